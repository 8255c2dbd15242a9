package guest

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"paddock/internal/guest/proc"
)

// takeHostname gives the machine its name, and then gives up the right to do so
// before anything else is started in it. A machine that was started for its
// session has its name, and never had the right.
func takeHostname(name string) error {
	may, err := proc.Holds(unix.CAP_SYS_ADMIN)
	if err != nil || !may {
		return err
	}
	if have, err := os.Hostname(); name != "" && (err != nil || have != name) {
		if err := unix.Sethostname([]byte(name)); err != nil {
			return fmt.Errorf("set hostname: %w", err)
		}
	}
	return proc.GiveUp(unix.CAP_SYS_ADMIN)
}
