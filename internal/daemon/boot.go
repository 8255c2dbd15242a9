package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// hostBoot is where the kernel tells one boot of this host from another.
const hostBoot = "/proc/sys/kernel/random/boot_id"

// noteBoot keeps the id of this boot in a file, and says whether the one that was
// there is of another boot.
func noteBoot(path string) (rebooted bool, err error) {
	now, err := os.ReadFile(hostBoot)
	if err != nil {
		return false, fmt.Errorf("read boot id: %w", err)
	}
	was, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read last boot id: %w", err)
	}
	if strings.TrimSpace(string(was)) == strings.TrimSpace(string(now)) {
		return false, nil
	}
	if err := os.WriteFile(path, now, 0o600); err != nil {
		return false, fmt.Errorf("keep boot id: %w", err)
	}
	return len(was) > 0, nil
}
