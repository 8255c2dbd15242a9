package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Who tells nobody has no key; who tells somebody makes it; an address that is
// none, and a key file that holds none, are refused for good.
func TestNotifyChannels(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notify.key")
	channels, err := notifyChannels(Config{DataDir: dir})
	if _, missing := os.Stat(file); err != nil || len(channels) != 0 || !errors.Is(missing, fs.ErrNotExist) {
		t.Errorf("%v %v, key file: %v", channels, err, missing)
	}
	cfg := Config{DataDir: dir, NotifyURL: "https://example.com", NotifyCommand: "true"}
	if channels, err = notifyChannels(cfg); err != nil || len(channels) != 2 || channels[0].Name() == channels[1].Name() {
		t.Errorf("%v %v", channels, err)
	}
	var wrong *MisconfiguredError
	if _, err = notifyChannels(Config{DataDir: dir, NotifyURL: "example.com"}); !errors.As(err, &wrong) {
		t.Errorf("an address that is none: %v", err)
	}
	if err := os.WriteFile(file, []byte("gone"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = notifyChannels(cfg); !errors.As(err, &wrong) {
		t.Errorf("a file without a key: %v", err)
	}
}
