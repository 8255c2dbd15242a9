package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestJournalLines(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newJournalHandler(&out, slog.LevelInfo))
	log.Debug("unheard")
	log.Info("serving", "url", "http://x")
	log.With("session_id", "s").WithGroup("g").Warn("two\nlines", "time", 1)
	log.Error("bad")
	want := "<6>msg=serving url=http://x\n" + `<4>msg="two\nlines" session_id=s g.time=1` + "\n<3>msg=bad\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestJournalIsKnownByItsStream(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(w.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]bool{"": false, "1:1": false, fmt.Sprintf("%d:%d", st.Dev, st.Ino): true} {
		t.Setenv("JOURNAL_STREAM", stream)
		if toJournal(w) != want {
			t.Errorf("JOURNAL_STREAM=%q: %v", stream, !want)
		}
	}
	if toJournal(&bytes.Buffer{}) {
		t.Error("a buffer is no journal")
	}
}
