package program

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"

	"paddock/internal/event"
	"paddock/internal/guest"
)

func (p *Program) readStderr(stderr io.Reader, h Handler) {
	r := bufio.NewReaderSize(stderr, 4<<10)
	for {
		line, err := r.ReadSlice('\n') // a longer line comes in parts
		if s := colours().ReplaceAllString(strings.TrimRight(string(line), "\r\n"), ""); s != "" {
			p.stderr.add(s)
			h.Stderr(s)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// colours are what some agents write though stderr is no terminal.
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*m") })

// tail keeps the last lines of a stream.
type tail struct {
	mu    sync.Mutex
	lines []string
}

const (
	tailLines = 8
	tailLine  = 512 // bytes
)

func (t *tail) add(line string) {
	if len(line) > tailLine {
		line = line[:tailLine] + "…"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

// String gives the lines, valid as UTF-8.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.Join(t.lines, "\n"), "\uFFFD")
}

// How much of the agent's stderr is logged in one turn; the last lines are kept
// for messages in any case.
const (
	maxStderrLines = 200
	maxStderrBytes = 64 << 10
)

// Stderr logs what an agent writes to its stderr, within bounds. Its zero value
// is ready.
type Stderr struct {
	mu    sync.Mutex
	lines int
	bytes int
}

// Begin begins a turn, which may log as much again.
func (b *Stderr) Begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines, b.bytes = 0, 0
}

// Log logs a line, or once that there are too many.
func (b *Stderr) Log(line string, log func(event.Log, guest.Source)) {
	ok, first := b.take(len(line))
	switch {
	case ok:
		log(event.Log{Level: "info", Message: strings.ToValidUTF8(line, "\uFFFD"), Fields: map[string]any{"stream": "stderr"}}, guest.Source{Type: "stderr"})
	case first:
		log(event.Log{Level: "warn", Message: "the agent writes much to stderr; more of it is not logged in this turn"}, guest.Source{Type: "stderr"})
	}
}

// take says whether a line may be logged, and whether it is the first that may not.
func (b *Stderr) take(n int) (ok, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines++
	b.bytes += n
	ok = b.lines <= maxStderrLines && b.bytes <= maxStderrBytes
	first = !ok && b.lines-1 <= maxStderrLines && b.bytes-n <= maxStderrBytes
	return ok, first
}
