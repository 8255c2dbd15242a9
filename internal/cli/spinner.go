package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/plain"
)

// spinner shows that something goes on, in the last line of a terminal.
type spinner struct {
	done chan struct{}
	text atomic.Pointer[string]
	wg   sync.WaitGroup
}

// spin starts a spinner on standard error; elsewhere than on a terminal it
// shows nothing. Call stop before anything else is printed.
func (a *app) spin(text string) *spinner {
	s := &spinner{done: make(chan struct{})}
	s.say(text)
	if IsTerminal(a.err) && a.getenv("TERM") != "dumb" && !a.json() {
		s.wg.Go(func() { s.turn(a.err) })
	}
	return s
}

// say changes the text.
func (s *spinner) say(text string) {
	text = plain.Line(text)
	s.text.Store(&text)
}

func (s *spinner) turn(w io.Writer) {
	const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	began := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	defer fmt.Fprint(w, "\r\x1b[K")
	for i := 0; ; i++ {
		frame := []rune(frames)[i%10]
		fmt.Fprintf(w, "\r\x1b[K%c %s %.1f s", frame, *s.text.Load(), time.Since(began).Seconds())
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
	}
}

// stop ends the spinner and clears its line.
func (s *spinner) stop() {
	close(s.done)
	s.wg.Wait()
}
