package program

import (
	"io"
	"sync"
)

// queue holds messages to a program, so that nobody waits for one that does not
// read.
type queue struct {
	mu     sync.Mutex
	lines  [][]byte
	filled chan struct{} // has one token when there are lines
	added  int64         // bytes so far
	given  int64         // bytes that the program's stdin has taken
}

func newQueue() queue { return queue{filled: make(chan struct{}, 1)} }

// add gives where in all that is written the line ends.
func (q *queue) add(line []byte) (end int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines = append(q.lines, line)
	q.added += int64(len(line))
	select {
	case q.filled <- struct{}{}:
	default:
	}
	return q.added
}

// write gives the queue to the program until that has ended, as dying tells a
// moment earlier, or its stdin is closed. (A reader that waits when it is killed
// may still take what is written before it comes to die of that.)
func (q *queue) write(w io.Writer, ended <-chan struct{}, dying func() bool) {
	for {
		select {
		case <-q.filled:
		case <-ended:
			return
		}
		if dying() {
			return
		}
		q.mu.Lock()
		batch := q.lines
		q.lines = nil
		q.mu.Unlock()
		for _, line := range batch {
			n, err := w.Write(line)
			q.mu.Lock()
			q.given += int64(n)
			q.mu.Unlock()
			if err != nil {
				return // the reader learns why
			}
		}
	}
}
