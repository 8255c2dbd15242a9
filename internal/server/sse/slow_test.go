package sse_test

import (
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/server/sse"
)

// big fills a history with more than connections hold, and gives the ids.
func big(log *memory) (ids []string) {
	text := strings.Repeat("x", 256<<10)
	for range 200 {
		ids = append(ids, log.add(id.Run{}, event.TokenDelta, text))
	}
	return ids
}

func ends(t *testing.T, s *service) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(soon):
		t.Fatal("the stream still waits for a reader that reads nothing")
	}
}

func TestSlowReaderIsCut(t *testing.T) {
	log := newMemory()
	big(log)
	s := serve(t, log, sse.Options{WriteTimeout: 50 * time.Millisecond})
	r := s.open(t, "/")
	defer r.response.Body.Close()
	ends(t, s)
}

// Readers who read nothing use up the memory that there is for all: one after
// the other is cut, and one who reads gets everything, at once.
func TestWhoHasReadNothingForTheLongestIsCut(t *testing.T) {
	log := newMemory()
	ids := big(log)
	s := serve(t, log, sse.Options{WriteTimeout: time.Hour, Memory: 2 << 20})
	const slow = 20
	for range slow {
		defer s.open(t, "/").response.Body.Close()
	}
	for range slow - 2<<20/(256<<10) {
		ends(t, s)
	}
	r := s.open(t, "/?replay_only=true")
	r.state()
	equal(t, r.ids(len(ids)), ids)
	r.atEnd()
}

// A stream that is to end does not wait for its reader to take what is written.
func TestSupersededWhileNobodyReads(t *testing.T) {
	log := newMemory()
	big(log)
	s := serve(t, log, sse.Options{WriteTimeout: time.Hour})
	defer s.open(t, "/?device_id=phone").response.Body.Close()
	newer := s.open(t, "/?device_id=phone&types=run.log")
	newer.state()
	equal(t, newer.state().State, "live")
	ends(t, s)
	newer.response.Body.Close()
}
