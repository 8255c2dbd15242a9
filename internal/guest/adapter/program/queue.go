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
}

func newQueue() queue { return queue{filled: make(chan struct{}, 1)} }

func (q *queue) add(line []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines = append(q.lines, line)
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// write gives the queue to the program until it is gone or its stdin is closed.
func (q *queue) write(w io.Writer, gone <-chan struct{}) {
	for {
		select {
		case <-q.filled:
		case <-gone:
			return
		}
		q.mu.Lock()
		batch := q.lines
		q.lines = nil
		q.mu.Unlock()
		for _, line := range batch {
			if _, err := w.Write(line); err != nil {
				return // the reader learns why
			}
		}
	}
}
