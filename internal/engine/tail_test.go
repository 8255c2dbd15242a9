package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/event"
	"paddock/internal/store"
)

// longLog is a history in memory that counts how often it is read.
type longLog struct {
	events []event.Event
	reads  int
	err    error
}

func (l *longLog) add(bytes int) {
	l.events = append(l.events, event.Event{Seq: int64(len(l.events) + 1), Data: json.RawMessage(strings.Repeat("x", bytes))})
}

func (l *longLog) load(page store.EventPage) (found []event.Event, err error) {
	l.reads++
	for _, e := range l.events[min(page.After, int64(len(l.events))):] {
		if found = append(found, e); page.Full(found) {
			break
		}
	}
	return found, l.err
}

// Whoever reads through a tail, from wherever and however often, gets what
// follows the place, in order and without a gap, or is told to look elsewhere.
func TestTailGivesWhatFollows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		log := &longLog{}
		tail := tail{place: func(e event.Event) int64 { return e.Seq }}
		readers := make([]int64, rapid.IntRange(1, 4).Draw(r, "readers"))
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			for range rapid.SampledFrom([]int{0, 1, 3, 200}).Draw(r, "events") {
				log.add(rapid.SampledFrom([]int{1, 1, 1, 1000, tailBytes + 1}).Draw(r, "bytes"))
			}
			last := int64(len(log.events))
			i := rapid.IntRange(0, len(readers)-1).Draw(r, "reader")
			if rapid.IntRange(0, 5).Draw(r, "joins") == 0 {
				readers[i] = rapid.Int64Range(0, last).Draw(r, "at")
			}
			after := readers[i]
			got, upTo, ok, err := tail.since(after, last, log.load)
			if err != nil {
				r.Fatal(err)
			}
			if !ok {
				if after >= tail.from && last-after <= tailReach {
					r.Fatalf("nothing after %d, though the tail is whole from %d", after, tail.from)
				}
				readers[i] = last // reads from the store
				continue
			}
			if after < last && upTo <= after || upTo > last || int64(len(got)) != upTo-after {
				r.Fatalf("after %d of %d: %d events up to %d", after, last, len(got), upTo)
			}
			for n, e := range got {
				if e.Seq != after+int64(n)+1 {
					r.Fatalf("after %d: event %d has seq %d", after, n, e.Seq)
				}
			}
			readers[i] = upTo
			size := 0
			for _, e := range tail.events {
				size += len(e.Data)
			}
			if len(tail.events) > tailEvents || size > tailBytes {
				r.Fatalf("holds %d events, %d bytes", len(tail.events), size)
			}
		}
	})
}

func TestManyWhoWaitReadTheStoreOnce(t *testing.T) {
	log := &longLog{}
	tail := tail{place: func(e event.Event) int64 { return e.Seq }}
	for at := range int64(50) {
		log.add(100)
		for range 1000 {
			if got, _, ok, err := tail.since(at, at+1, log.load); len(got) != 1 || !ok || err != nil {
				t.Fatal(got, ok, err)
			}
		}
	}
	if log.reads != 50 {
		t.Errorf("50 events were read %d times", log.reads)
	}
	log.add(100)
	log.err = errors.New("broken")
	if _, _, ok, err := tail.since(50, 51, log.load); ok || err == nil {
		t.Errorf("a store that fails: %v, %v", ok, err)
	}
	log.err = nil
	if got, _, ok, err := tail.since(50, 51, log.load); len(got) != 1 || !ok || err != nil {
		t.Errorf("a store that has failed once: %v, %v, %v", got, ok, err)
	}
}
