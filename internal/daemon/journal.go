package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// toJournal says whether w is the stream that JOURNAL_STREAM names (device and
// inode), i.e. whether systemd's journal reads what is written there.
func toJournal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return false
	}
	return os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// journalHandler writes one line a record as the journal wants it: the priority
// in front (sd-daemon(3)), no time, for the journal has its own.
type journalHandler struct {
	slog.Handler // writes to line
	to           *journalLine
}

// journalLine is what all handlers of one log share.
type journalLine struct {
	mu   sync.Mutex
	line bytes.Buffer
	w    io.Writer
}

func newJournalHandler(w io.Writer, level slog.Level) slog.Handler {
	to := &journalLine{w: w}
	text := slog.NewTextHandler(&to.line, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}})
	return journalHandler{text, to}
}

// Handle is part of slog.Handler.
func (h journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.to.mu.Lock()
	defer h.to.mu.Unlock()
	h.to.line.Reset()
	fmt.Fprintf(&h.to.line, "<%d>", priority(r.Level))
	if err := h.Handler.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.to.w.Write(h.to.line.Bytes())
	return err
}

// WithAttrs is part of slog.Handler.
func (h journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journalHandler{h.Handler.WithAttrs(attrs), h.to}
}

// WithGroup is part of slog.Handler.
func (h journalHandler) WithGroup(name string) slog.Handler {
	return journalHandler{h.Handler.WithGroup(name), h.to}
}

// priority is the level in the numbers of syslog(3).
func priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	case l >= slog.LevelInfo:
		return 6
	default:
		return 7
	}
}
