package daemon

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestSupervisorHearsOfUs(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "notify"), "@paddock-test-" + filepath.Base(t.TempDir())} {
		address := name
		if name[0] == '@' {
			address = "\x00" + name[1:]
		}
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: address})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NOTIFY_SOCKET", name)
		s := findSupervisor()
		if _, set := os.LookupEnv("NOTIFY_SOCKET"); set {
			t.Error("children see the socket")
		}
		s.tell("READY=1", "STATUS=all is well")
		buffer := make([]byte, 100)
		n, err := l.Read(buffer)
		if got := string(buffer[:n]); err != nil || got != "READY=1\nSTATUS=all is well" {
			t.Errorf("heard %q, %v", got, err)
		}
		l.Close()
		s.tell("STOPPING=1") // nobody listens any more
	}
	supervisor{}.tell("READY=1")
}
