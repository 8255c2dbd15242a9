package engine

import (
	"context"
	"strings"
	"testing"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

// A history that grows too large loses the bodies of its oldest events as it
// grows, and nothing else; a house without a limit keeps everything.
func TestHistoryIsLimited(t *testing.T) {
	const limit, changes, each = 300_000, 40, 20
	for name, room := range map[string]int64{"limit": limit, "none": 0} {
		t.Run(name, func(t *testing.T) {
			h := newHouseWith(t, func(h *house) { h.room = room })
			v := h.create("agent: demo\n")
			before := len(h.history(v))
			text := strings.Repeat("x", 500)
			for range changes {
				err := h.change(context.Background(), v.ID, func(c *change) error {
					for range each {
						c.emit(id.Run{}, event.ToolCallCompleted, event.ToolCompleted{ToolCallID: "t", OK: true, Summary: text})
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			events := h.history(v)
			s, err := h.store.SessionByID(context.Background(), v.ID)
			if err != nil || len(events) != before+changes*each || s.LastSeq != int64(len(events)) {
				t.Fatalf("%d events, last seq %d, %v", len(events), s.LastSeq, err)
			}
			var size int64
			for i, e := range events {
				size += int64(len(e.Data))
				if e.Seq != int64(i+1) {
					t.Fatalf("event %d has seq %d", i+1, e.Seq)
				}
				if e.Dropped > 0 && i >= len(events)-limit/store.NewestShare/600 {
					t.Fatalf("event %d of %d is trimmed", e.Seq, len(events))
				}
			}
			if s.History != size || room > 0 && size > room || room == 0 && size < changes*each*500 {
				t.Errorf("the history holds %d bytes, says %d", size, s.History)
			}
			if trimmed := events[before].Dropped > 0; trimmed != (room > 0) {
				t.Errorf("the oldest output lacks %d bytes", events[before].Dropped)
			}
		})
	}
}
