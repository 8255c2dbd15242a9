package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/lmittmann/tint"

	"paddock/internal/logging"
)

// NewLogger makes the server's log: level is debug, info, warn or error; format
// is json, text, or auto, which is text on a terminal, lines for systemd's journal
// where that reads them, and json elsewhere.
func NewLogger(w io.Writer, terminal bool, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level is %q; it is debug, info, warn or error", level)
	}
	if format == "text" || format == "auto" && terminal {
		return named(tint.NewHandler(w, &tint.Options{Level: l, TimeFormat: time.TimeOnly, NoColor: !terminal})), nil
	}
	if format == "auto" && toJournal(w) {
		return named(newJournalHandler(w, l)), nil
	}
	return named(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l})), nil
}

// named makes a log whose lines name their call.
func named(writes slog.Handler) *slog.Logger { return slog.New(logging.NewHandler(writes)) }
