package guest

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

func TestTooManyExecs(t *testing.T) {
	x := &execs{byID: map[id.Exec]*execution{}}
	for range maxExecs {
		x.byID[id.New[id.Exec]()] = &execution{}
	}
	_, err := x.start(t.Context(), id.New[id.Exec](), guestapi.ExecRequest{Argv: []string{"true"}, Timeout: time.Second})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.TooManyRequests || !strings.Contains(f.Message, "512 execs at once") {
		t.Errorf("the exec after the last is refused with %v", err)
	}
}

// A lack of something in the machine is no fault of the request.
func TestStartFault(t *testing.T) {
	for errno, want := range map[error]struct {
		code fault.Code
		says string
	}{
		unix.EAGAIN:  {fault.TooManyRequests, "there are too many processes in the sandbox"},
		unix.ENOMEM:  {fault.TooManyRequests, "there is not enough memory in the sandbox"},
		unix.EMFILE:  {fault.TooManyRequests, "there are too many open files in the sandbox"},
		unix.ENOEXEC: {fault.BadRequest, `"/bin/x" cannot be started`},
	} {
		var f *fault.Error
		err := startFault(&os.PathError{Op: "start", Path: "/bin/x", Err: errno}, proc.Spec{Path: "/bin/x"})
		if !errors.As(err, &f) || f.Code != want.code || !strings.Contains(f.Message, want.says) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}
