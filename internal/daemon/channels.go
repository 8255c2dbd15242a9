package daemon

import (
	"path/filepath"

	"paddock/internal/notify"
)

// notifyChannels are the ways by which somebody outside is told what waits and
// what has ended. Their key is made with the first of them, once.
func notifyChannels(cfg Config) ([]notify.Channel, error) {
	if cfg.NotifyURL == "" && cfg.NotifyCommand == "" {
		return nil, nil
	}
	if cfg.NotifyURL != "" {
		if err := notify.CheckURL(cfg.NotifyURL); err != nil {
			return nil, &MisconfiguredError{err}
		}
	}
	key, err := notify.OpenKey(filepath.Join(cfg.DataDir, "notify.key"))
	if err != nil {
		return nil, &MisconfiguredError{err}
	}
	var channels []notify.Channel
	if cfg.NotifyURL != "" {
		channels = append(channels, notify.URL(cfg.NotifyURL, key))
	}
	if cfg.NotifyCommand != "" {
		channels = append(channels, notify.Command(cfg.NotifyCommand, key))
	}
	return channels, nil
}
