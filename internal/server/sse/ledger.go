package sse

import (
	"container/list"
	"sync"
)

// ledger bounds the memory of all that is being written to readers: when it is
// used up, the write that has waited for the longest is cut.
type ledger struct {
	limit int // in bytes

	mu      sync.Mutex
	total   int
	waiting list.List // of *held, the oldest first
}

// held is what one write holds until its reader has taken it.
type held struct {
	size int
	cut  func() // ends the write; must not block
}

// hold counts a write in, and cuts others if need be; release counts it out, and
// cut is not called afterwards.
func (l *ledger) hold(size int, cut func()) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.waiting.PushBack(&held{size, cut})
	l.total += size
	for l.total > l.limit && l.waiting.Front() != mine {
		l.remove(l.waiting.Front()).cut()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.remove(mine)
	}
}

// remove takes a write off the list; again changes nothing.
func (l *ledger) remove(e *list.Element) *held {
	h := e.Value.(*held)
	l.waiting.Remove(e)
	l.total -= h.size
	h.size = 0
	return h
}
