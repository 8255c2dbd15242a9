package proc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Who waits for a file that does not come waits once, and not for long; when it
// comes after all it is read again.
func TestLookAtWhatIsStuck(t *testing.T) {
	const pid = 1 << 22 // nobody's
	pipe := filepath.Join(t.TempDir(), "stat")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, most := range []time.Duration{10 * time.Millisecond, time.Hour} { // the second finds it in the list
		if _, err := lookAt(pipe, pid, most, os.ReadFile); !errors.Is(err, errStuck) {
			t.Fatalf("%v", err)
		}
	}
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	writer.Close() // the reader is at the end
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, is := stuck.Load(pid); !is {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what has come is held for stuck")
		}
	}
	if text, err := look(os.Getpid(), "comm"); err != nil || len(text) == 0 {
		t.Errorf("%q %v", text, err)
	}
}
