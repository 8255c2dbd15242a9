package sse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a history in memory.
type memory struct {
	mu      sync.Mutex
	session id.Session
	events  []event.Event
	recent  int64
	ended   bool
	changed chan struct{}
}

func newMemory() *memory {
	return &memory{session: id.New[id.Session](), changed: make(chan struct{})}
}

// add appends an event and returns its id.
func (m *memory) add(run id.Run, kind event.Kind, text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, _ := json.Marshal(map[string]string{"text": text})
	at, seq := time.Now(), int64(len(m.events)+1)
	e := event.Event{ID: id.NewEvent(at, seq, 0), Session: m.session, Run: run, Seq: seq, At: at, Kind: kind, Data: data, SourceRaw: []byte("raw")}
	m.events = append(m.events, e)
	close(m.changed)
	m.changed = make(chan struct{})
	return e.ID.String()
}

// fill appends n events and returns their ids.
func (m *memory) fill(n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, m.add(id.Run{}, event.TokenDelta, fmt.Sprintf("<%d & more>\n", i)))
	}
	return ids
}

func (m *memory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memory) Session() id.Session { return m.session }

func (m *memory) Read(ctx context.Context, page store.EventPage) ([]event.Event, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []event.Event
	for _, e := range m.events {
		if e.Seq <= page.After || page.Before > 0 && e.Seq >= page.Before || !page.Run.IsZero() && e.Run != page.Run ||
			len(page.Kinds) > 0 && !slices.Contains(page.Kinds, e.Kind) {
			continue
		}
		if !page.Raw {
			e.SourceRaw = nil
		}
		if page.Before == 0 && page.Full(out) {
			return out, out[len(out)-1].Seq, nil
		}
		out = append(out, e)
	}
	if page.Before > 0 {
		out = out[max(0, len(out)-page.Limit):]
	}
	return out, int64(len(m.events)), nil
}

func (m *memory) Name() string { return m.session.String() }

func (m *memory) Place(e event.Event) int64 { return e.Seq }

func (m *memory) Find(_ context.Context, cursor string) (int64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.events, func(e event.Event) bool { return e.ID.String() == cursor })
	return int64(i + 1), i >= 0, nil
}

func (m *memory) Recent(context.Context) (int64, error) { return m.recent, nil }

func (m *memory) Waiting(_ context.Context, upTo int64, _ bool) (waiting []event.Event, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.Kind == event.HumanInputRequested && e.Seq <= upTo {
			waiting = append(waiting, e)
		}
	}
	return waiting, nil
}

func (m *memory) Last() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.events))
}

func (m *memory) Changed(after int64) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if int64(len(m.events)) > after || m.ended {
		c := make(chan struct{})
		close(c)
		return c
	}
	return m.changed
}

func (m *memory) Ended() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended
}
