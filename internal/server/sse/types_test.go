package sse_test

import (
	"context"
	"testing"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/server/sse"
)

// mixed fills a history with n rounds of three kinds and gives the ids by kind.
func mixed(log *memory, n int) map[event.Kind][]string {
	ids := map[event.Kind][]string{}
	for range n {
		for _, kind := range []event.Kind{event.RunLog, event.TokenDelta, event.SessionUpdated} {
			ids[kind] = append(ids[kind], log.add(id.Run{}, kind, "x"))
		}
	}
	return ids
}

func TestOnlySomeTypes(t *testing.T) {
	log := newMemory()
	ids := mixed(log, 400)
	s := serve(t, log, sse.Options{})
	r := s.open(t, "/?replay_only=true&types=run.log")
	r.state()
	equal(t, r.ids(400), ids[event.RunLog])
	r.atEnd()
	equal(t, r.last(), "end")

	r = s.open(t, "/?types=run.log,%20policy.denied", "Last-Event-ID", ids[event.TokenDelta][99])
	r.state()
	equal(t, r.ids(300), ids[event.RunLog][100:])
	equal(t, r.state().State, "live")
	log.add(id.Run{}, event.TokenDelta, "not wanted")
	want := log.add(id.Run{}, event.RunLog, "wanted")
	equal(t, r.ids(1), []string{want})
	r.response.Body.Close()
}

// Resumed after an event, of a chosen type or not, exactly the rest comes.
func TestResumeWithTypes(t *testing.T) {
	log := newMemory()
	ids := mixed(log, 200)
	s := serve(t, log, sse.Options{})
	for kind, cursors := range ids {
		r := s.open(t, "/?replay_only=true&types=run.log", "Last-Event-ID", cursors[99])
		equal(t, r.state().Truncated, false)
		equal(t, r.ids(100), ids[event.RunLog][100:])
		r.atEnd()
		if kind == event.RunLog {
			continue
		}
		r = s.open(t, "/?replay_only=true&types=run.log,"+string(kind)+"&before="+cursors[50]+"&limit=2")
		r.state()
		equal(t, len(r.ids(2)), 2)
		r.atEnd()
		equal(t, r.last(), "has_more=true")
	}
	r := s.open(t, "/?replay_only=true&types=run.log&before="+ids[event.TokenDelta][3]+"&limit=4")
	r.state()
	equal(t, r.ids(4), ids[event.RunLog][:4])
	r.atEnd()
	equal(t, r.last(), "has_more=false")
}

func TestRunStreamOfSomeTypesEndsWithItsRun(t *testing.T) {
	log, run := newMemory(), id.New[id.Run]()
	log.add(run, event.RunStarted, "hi")
	want := log.add(run, event.RunLog, "a")
	s := serve(t, log, sse.Options{})
	s.run = run
	r := s.open(t, "/run?types=run.log")
	r.state()
	equal(t, r.ids(1), []string{want})
	equal(t, r.state().State, "live")
	log.add(run, event.RunCompleted, "b")
	r.atEnd()
	equal(t, r.last(), "end")
}

func TestPollOfSomeTypes(t *testing.T) {
	log := newMemory()
	ids := mixed(log, 10)
	poll := func(want sse.PollRequest) sse.Polled {
		t.Helper()
		got, err := sse.Poll(context.Background(), log, want)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	only := []event.Kind{event.RunLog}
	got := poll(sse.PollRequest{After: ids[event.TokenDelta][4], Kinds: only})
	equal(t, []any{len(got.Events), got.Cursor}, []any{5, ids[event.RunLog][9]})
	answer := make(chan sse.Polled)
	go func() { answer <- poll(sse.PollRequest{After: got.Cursor, Kinds: only, Wait: soon}) }()
	log.add(id.Run{}, event.TokenDelta, "not wanted")
	want := log.add(id.Run{}, event.RunLog, "wanted")
	got = <-answer
	equal(t, []any{len(got.Events), got.Cursor}, []any{1, want})
	log.add(id.Run{}, event.TokenDelta, "not wanted")
	log.end()
	got = poll(sse.PollRequest{After: want, Kinds: only, Wait: soon})
	equal(t, []any{len(got.Events), got.Cursor, got.Ended}, []any{0, want, true})
}
