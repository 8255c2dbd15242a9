package engine

import (
	"sync"

	"paddock/internal/id"
)

// hub tells readers that a session has events up to some seq. It carries no
// events: readers fetch them from the store at their own pace, so a slow one
// costs nothing.
type hub struct {
	mu     sync.Mutex
	topics map[id.Session]*topic
}

// topic is a session that somebody reads.
type topic struct {
	readers int
	last    int64
	ended   bool
	changed chan struct{} // closed and replaced at each publication
}

func newHub() *hub { return &hub{topics: map[id.Session]*topic{}} }

// open counts a reader in.
func (h *hub) open(sid id.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[sid]
	if t == nil {
		t = &topic{changed: make(chan struct{})}
		h.topics[sid] = t
	}
	t.readers++
}

// close counts a reader out.
func (h *hub) close(sid id.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[sid]; t != nil {
		if t.readers--; t.readers == 0 {
			delete(h.topics, sid)
		}
	}
}

// publish wakes the readers of a session; last 0 means that no event is new.
func (h *hub) publish(sid id.Session, last int64, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[sid]
	if t == nil || (last <= t.last && ended == t.ended) {
		return
	}
	t.last = max(t.last, last)
	t.ended = t.ended || ended
	close(t.changed)
	t.changed = make(chan struct{})
}

// state gives what is published of a session that is open.
func (h *hub) state(sid id.Session) (last int64, ended bool, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[sid]
	return t.last, t.ended, t.changed
}
