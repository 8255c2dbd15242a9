package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRebootIsNoticedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "boot-id")
	want := func(what string, want bool) {
		t.Helper()
		if got, err := noteBoot(path); err != nil || got != want {
			t.Errorf("%s: rebooted is %v, %v", what, got, err)
		}
	}
	want("the first server of all", false)
	want("the next one", false)
	if err := os.WriteFile(path, []byte("another boot\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("the first one after a reboot", true)
	want("the one after that", false)
}
