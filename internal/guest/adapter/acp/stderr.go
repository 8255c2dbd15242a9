package acp

import (
	"strings"
	"sync"

	"paddock/internal/event"
	"paddock/internal/guest"
)

// How much of the agent's stderr is logged in one turn; the last lines are kept
// for messages in any case.
const (
	maxStderrLines = 200
	maxStderrBytes = 64 << 10
)

// stderrBudget counts what was logged since the last turn began.
type stderrBudget struct {
	mu    sync.Mutex
	turn  *turn
	lines int
	bytes int
}

// take says whether a line may be logged, and whether it is the first that may not.
func (b *stderrBudget) take(t *turn, n int) (ok, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t != b.turn && t != nil {
		b.turn, b.lines, b.bytes = t, 0, 0
	}
	b.lines++
	b.bytes += n
	ok = b.lines <= maxStderrLines && b.bytes <= maxStderrBytes
	first = !ok && b.lines-1 <= maxStderrLines && b.bytes-n <= maxStderrBytes
	return ok, first
}

// stderrLine logs a line that the agent wrote to its stderr.
func (a *adapter) stderrLine(_ *process, line string) {
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	ok, first := a.quiet.take(t, len(line))
	switch {
	case ok:
		a.log(event.Log{Level: "info", Message: strings.ToValidUTF8(line, "\uFFFD"), Fields: map[string]any{"stream": "stderr"}}, guest.Source{Type: "stderr"})
	case first:
		a.log(event.Log{Level: "warn", Message: "the agent writes much to stderr; more of it is not logged in this turn"}, guest.Source{Type: "stderr"})
	}
}
