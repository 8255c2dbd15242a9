package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

var trimCases = []testCase{
	{"an event that is too large is cut and says so", func(f *fixture) {
		s := f.created("a").ID
		text := strings.Repeat("x", 2*event.MaxData)
		draft := event.NewDraft(id.Run{}, event.ToolCallCompleted, event.ToolCompleted{ToolCallID: "t1", OK: true, Summary: text})
		draft.SourceRaw = bytes.Repeat([]byte{0, 255}, event.MaxRaw)
		f.append(s, draft)
		e := f.events(s, store.EventPage{Raw: true})[0]
		same(f, e.Dropped, int64(len(draft.Data)-len(e.Data)))
		same(f, e.RawDropped, int64(event.MaxRaw))
		same(f, e.SourceRaw, draft.SourceRaw[:event.MaxRaw])
		same(f, f.stored(s).History, int64(len(e.Data)+len(e.SourceRaw)))
		if len(e.Data) > event.MaxData || !bytes.Contains(e.Data, []byte(`"tool_call_id":"t1"`)) {
			f.Fatalf("%d bytes are left: %.200s", len(e.Data), e.Data)
		}
		e.SourceRaw, e.RawDropped = nil, 0 // an ordinary read knows nothing of frames
		same(f, f.events(s, store.EventPage{})[0], e)
	}},
	{"native frames go first, then outputs, then what was said; the newest stay", func(f *fixture) {
		s := f.created("a").ID
		long := strings.Repeat("x", 1000)
		said := event.NewDraft(id.Run{}, event.TokenDelta, event.Delta{Text: long})
		said.SourceRaw = make([]byte, 1000)
		output := event.NewDraft(id.Run{}, event.ToolCallCompleted, event.ToolCompleted{ToolCallID: "t", Summary: long})
		for range store.Untrimmed {
			f.append(s, said, output)
		}
		all := f.stored(s).History
		raw := int64(store.Untrimmed * 1000)
		sort := func(e event.Event) string {
			switch {
			case e.RawDropped > 0 && e.Dropped > 0:
				return "frame and text"
			case e.RawDropped > 0:
				return "frame"
			case e.Dropped > 0 && e.Kind.Output():
				return "output"
			case e.Dropped > 0:
				return "text"
			}
			return "whole"
		}
		count := func() map[string]int {
			counts := map[string]int{}
			for _, e := range f.events(s, store.EventPage{Raw: true}) {
				counts[sort(e)]++
			}
			return counts
		}
		f.trim(s, all, 10_000)
		same(f, count(), map[string]int{"whole": 512})
		f.trim(s, all-1, 10_000)
		same(f, count(), map[string]int{"whole": 511, "frame": 1})
		f.trim(s, all-10_000, 3) // in pieces
		same(f, count(), map[string]int{"whole": 508, "frame": 4})
		f.trim(s, all-10_000, 10_000)
		same(f, count(), map[string]int{"whole": 502, "frame": 10})
		f.trim(s, all-raw-40_000, 10_000)
		got := count()
		if got["output"] == 0 || got["output"] >= store.Untrimmed || got["text"]+got["frame and text"] > 0 {
			f.Fatalf("dropped are %v", got)
		}
		frames, newest := store.Untrimmed-got["frame"], int64(0)
		for _, e := range f.events(s, store.EventPage{Raw: true})[2*(store.Untrimmed-frames):] {
			newest += int64(len(e.Data) + len(e.SourceRaw))
			same(f, sort(e), "whole")
		}
		if share := (all - raw - 40_000) / store.NewestShare; newest > share || newest < share-3500 {
			f.Fatalf("the newest %d bytes are whole, want %d", newest, share)
		}
		f.trim(s, 0, 10_000)
		same(f, count(), map[string]int{"whole": 1, "output": store.Untrimmed - 1, "frame and text": store.Untrimmed})
		checkLog(f, f.stored(s), f.events(s, store.EventPage{}))
	}},
	{"few large events are trimmed too", func(f *fixture) {
		s := f.created("a").ID
		const each, limit = 100_000, 1_000_000
		for i := range 30 {
			f.append(s, event.NewDraft(id.Run{}, event.RunStarted, event.Delta{Text: strings.Repeat(string(rune('a'+i)), each)}))
			f.trim(s, limit, 10)
		}
		if h := f.stored(s).History; h > limit || h < limit-each {
			f.Fatalf("%d bytes are held, the limit is %d", h, limit)
		}
		if whole := f.events(s, store.EventPage{})[21:]; len(whole) != 9 || whole[0].Dropped+whole[8].Dropped > 0 {
			f.Fatalf("of the newest %d, %d and %d bytes are gone", len(whole), whole[0].Dropped, whole[8].Dropped)
		}
	}},
	{"an absent session is not found", func(f *fixture) {
		err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.TrimHistory(id.New[id.Session](), 1, 1) })
		f.fails(err, store.ErrNotFound)
	}},
}

// trimProperty: whatever is appended and trimmed, no event changes its place,
// id, time or kind, the session's count of bytes is right, the marks tell what
// is missing, and frames go from the oldest.
func trimProperty(t *testing.T, open func(t *testing.T) store.Store) {
	f := newFixture(t, open(t))
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		s := f.created(fmt.Sprint("r", round)).ID
		var want []event.Event
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			drafts := make([]event.Draft, rapid.IntRange(0, 120).Draw(r, "events"))
			for i := range drafts {
				text := strings.Repeat("x", rapid.SampledFrom([]int{1, 200, 2000}).Draw(r, "text"))
				kind := rapid.SampledFrom([]event.Kind{event.TokenDelta, event.ToolCallCompleted, event.SessionUpdated}).Draw(r, "kind")
				drafts[i] = event.NewDraft(id.Run{}, kind, map[string]any{"text": text, "tool_call_id": "t"})
				drafts[i].SourceRaw = make([]byte, rapid.SampledFrom([]int{0, 1, 2000}).Draw(r, "raw"))
			}
			want = append(want, f.append(s, drafts...)...)
			f.trim(s, rapid.Int64Range(0, 200_000).Draw(r, "limit"), rapid.IntRange(1, 100).Draw(r, "most"))
		}
		got := f.events(s, store.EventPage{Raw: true})
		if err := CheckLog(f.stored(s), got); err != nil {
			r.Fatal(err)
		}
		var held int64
		frames := false
		for i, e := range got {
			held += int64(len(e.Data) + len(e.SourceRaw))
			if e.ID != want[i].ID || e.Kind != want[i].Kind || !e.At.Equal(want[i].At) || e.Seq != want[i].Seq {
				r.Fatalf("event %d has become %+v", i+1, e)
			}
			if e.Dropped+int64(len(e.Data)) != int64(len(want[i].Data)) || e.RawDropped+int64(len(e.SourceRaw)) != int64(len(want[i].SourceRaw)) {
				r.Fatalf("event %d lacks more than it says: %d and %d", e.Seq, e.Dropped, e.RawDropped)
			}
			if frames = frames || len(e.SourceRaw) > 0; frames && e.RawDropped > 0 {
				r.Fatalf("the frame of event %d is dropped, an older one is kept", e.Seq)
			}
		}
		if h := f.stored(s).History; h != held {
			r.Fatalf("the session says it holds %d bytes, it holds %d", h, held)
		}
		if f.trim(s, 100_000, 10_000); len(got) < 500 && f.stored(s).History > 100_000+int64(len(got))*event.ShortField*2 {
			r.Fatalf("%d bytes are held after the last trim", f.stored(s).History)
		}
	})
}

func (f *fixture) append(s id.Session, drafts ...event.Draft) (events []event.Event) {
	f.Helper()
	f.update(func(tx store.Tx) (err error) {
		events, err = tx.Append(s, start, drafts...)
		return err
	})
	return events
}

func (f *fixture) trim(s id.Session, limit int64, most int) {
	f.Helper()
	f.update(func(tx store.Tx) error { return tx.TrimHistory(s, limit, most) })
}
