package sse_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/server/sse"
)

func equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

func TestLiveStream(t *testing.T) {
	log := newMemory()
	ids := log.fill(5)
	log.recent = 2
	s := serve(t, log, sse.Options{})
	r := s.open(t, "/")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
	} {
		equal(t, r.response.Header.Get(name), want)
	}
	equal(t, r.state().State, "catching_up")
	equal(t, r.comments, []string{"connected"})
	equal(t, r.ids(3), ids[2:])
	equal(t, r.state().State, "live")
	more := log.fill(2)
	equal(t, r.ids(2), more)
	log.end()
	r.atEnd()
	equal(t, r.last(), "end")
}

// Who attaches is asked what still waits, before what is recent, once; who goes
// on after a cursor was asked already.
func TestWaitingIsAskedAgain(t *testing.T) {
	log := newMemory()
	first := log.fill(2)
	asked := log.add(id.Run{}, event.HumanInputRequested, "may I?")
	ids := log.fill(5)
	s := serve(t, log, sse.Options{})
	var readers []*reader
	for _, c := range []struct {
		path   string
		recent int64
		want   []string
	}{
		{"/", 6, append([]string{asked}, ids[3:]...)},
		{"/", 1, append([]string{first[1], asked}, ids...)},
		{"/?types=run.token_delta", 6, ids[3:]},
		{"/?cursor=" + ids[0], 6, ids[1:]},
	} {
		log.recent = c.recent
		r := s.open(t, c.path)
		equal(t, r.state().State, "catching_up")
		equal(t, r.ids(len(c.want)), c.want)
		equal(t, r.state().State, "live")
		readers = append(readers, r)
	}
	log.end()
	for _, r := range readers {
		r.atEnd()
	}
}

func TestResume(t *testing.T) {
	log := newMemory()
	ids := log.fill(600) // more than two pages
	s := serve(t, log, sse.Options{})
	for _, c := range []struct{ path, header string }{
		{"/?cursor=" + ids[99], ""}, {"/", ids[99]}, {"/?cursor=" + ids[3], ids[99]}, {"/?replay_from=" + ids[99], ""},
	} {
		r := s.open(t, c.path, "Last-Event-ID", c.header)
		state := r.state()
		equal(t, state.Cursor, ids[99])
		equal(t, state.Truncated, false)
		equal(t, r.ids(500), ids[100:])
		equal(t, r.state().State, "live")
		r.response.Body.Close()
	}
}

func TestUnknownCursorBeginsAtTheOldest(t *testing.T) {
	log := newMemory()
	ids := log.fill(3)
	log.recent = 2
	s := serve(t, log, sse.Options{})
	r := s.open(t, "/", "Last-Event-ID", "evt_nonsense")
	equal(t, r.state().Truncated, true)
	equal(t, r.ids(3), ids)
	r.response.Body.Close()
}

func TestReplay(t *testing.T) {
	log := newMemory()
	ids := log.fill(300)
	s := serve(t, log, sse.Options{})
	r := s.open(t, "/?replay_only=true")
	equal(t, r.state().State, "catching_up")
	equal(t, r.ids(300), ids)
	r.atEnd()
	equal(t, r.comments, []string{"connected", "end"})

	r = s.open(t, "/?replay_only=true&replay_from="+ids[297])
	r.state()
	equal(t, r.ids(2), ids[298:])
	r.atEnd()
}

func TestPagesBackwards(t *testing.T) {
	log := newMemory()
	ids := log.fill(700)
	s := serve(t, log, sse.Options{})
	page := func(before, limit string, want []string, more string) {
		t.Helper()
		r := s.open(t, "/?replay_only=true&before="+before+limit)
		r.state()
		equal(t, r.ids(len(want)), want)
		r.atEnd()
		equal(t, r.last(), "has_more="+more)
	}
	page(ids[650], "", ids[450:650], "true")
	page(ids[650], "&limit=600", ids[50:650], "true")
	page(ids[10], "&limit=10", ids[:10], "false")
	page(ids[10], "&limit=9", ids[1:10], "true")
	page(ids[256], "&limit=256", ids[:256], "false")
	page(ids[0], "", nil, "false")
}

func TestRefusals(t *testing.T) {
	log := newMemory()
	ids := log.fill(1)
	s := serve(t, log, sse.Options{})
	for path, want := range map[string]string{
		"/?before=" + ids[0]:              "before needs replay_only=true",
		"/?replay_only=true&before=evt_x": "there is no event",
		"/?replay_only=maybe":             "replay_only",
		"/?limit=0":                       "limit",
		"/?limit=many":                    "limit",
		"/?include_raw=2":                 "include_raw",
		"/?types=run.complete":            `did you mean "run.completed"?`,
		"/?types=":                        "no type",
		"/?types=run.log,,":               "no type",
		"/?types=stream.state":            "no type",
	} {
		status, text := get(t, s, path)
		if status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %q", path, status, text, want)
		}
	}
}

func TestRawOnlyWhenAsked(t *testing.T) {
	log := newMemory()
	log.fill(1)
	s := serve(t, log, sse.Options{})
	for path, want := range map[string]string{"/?replay_only=true": "", "/?replay_only=true&include_raw=true": "raw"} {
		r := s.open(t, path)
		r.state()
		e, _ := r.next()
		equal(t, string(e.SourceRaw), want)
		r.atEnd()
	}
}

func TestNewerStreamOfADeviceWins(t *testing.T) {
	log := newMemory()
	s := serve(t, log, sse.Options{})
	older := s.open(t, "/?device_id=phone")
	other := s.open(t, "/?device_id=desk")
	for _, r := range []*reader{older, other} {
		r.state()
		equal(t, r.state().State, "live")
	}
	newer := s.open(t, "/", "X-Device-UUID", "phone")
	equal(t, older.state().State, "superseded")
	older.atEnd()
	newer.state()
	newer.state()
	ids := log.fill(1)
	equal(t, newer.ids(1), ids)
	equal(t, other.ids(1), ids)
	newer.response.Body.Close()
	other.response.Body.Close()
}

func TestRunStreamEndsWithItsRun(t *testing.T) {
	log, run := newMemory(), id.New[id.Run]()
	log.fill(300)
	want := []string{log.add(run, event.RunStarted, "hi")}
	log.fill(300)
	s := serve(t, log, sse.Options{})
	s.run = run
	r := s.open(t, "/run")
	r.state()
	equal(t, r.ids(1), want)
	equal(t, r.state().State, "live")
	log.fill(2) // of others
	want = append(want, log.add(run, event.TokenDelta, "a"), log.add(run, event.RunCompleted, "b"))
	log.fill(1)
	equal(t, r.ids(2), want[1:])
	r.atEnd()
	equal(t, r.last(), "end")

	s.runDone = true
	for cursor, rest := range map[string][]string{"": want, want[1]: want[2:], want[2]: nil} {
		r = s.open(t, "/run", "Last-Event-ID", cursor)
		r.state()
		equal(t, r.ids(len(rest)), slices.Clip(rest))
		r.atEnd()
	}
}

func TestKeepAlive(t *testing.T) {
	s := serve(t, newMemory(), sse.Options{KeepAlive: time.Millisecond})
	r := s.open(t, "/")
	r.state()
	r.state()
	r.events.OnComment = func(text []byte) {
		if string(text) == "keep-alive" {
			s.stop()
		}
	}
	r.atEnd()
}

func TestStoppingServerCutsWithoutEnd(t *testing.T) {
	s := serve(t, newMemory(), sse.Options{})
	r := s.open(t, "/")
	r.state()
	r.state()
	s.stop()
	r.atEnd()
	equal(t, r.comments, []string{"connected"})
}

func TestHead(t *testing.T) {
	s := serve(t, newMemory(), sse.Options{})
	response, err := s.Client().Head(s.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	equal(t, response.Header.Get("Content-Type"), "text/event-stream")
}

// A long poll waits a minute at the most, whatever is asked.
func TestPollWaitIsBounded(t *testing.T) {
	for wait, want := range map[string]time.Duration{"": 0, "0s": 0, "30s": 30 * time.Second, "60s": time.Minute, "100h": time.Minute} {
		got, err := sse.ParsePoll(httptest.NewRequest("GET", "/x?wait="+wait, nil))
		if err != nil || got.Wait != want {
			t.Errorf("wait=%s is %s, %v; want %s", wait, got.Wait, err, want)
		}
	}
}

func TestPoll(t *testing.T) {
	log := newMemory()
	ids := log.fill(300)
	ctx := context.Background()
	poll := func(want sse.PollRequest) sse.Polled {
		t.Helper()
		got, err := sse.Poll(ctx, log, want)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := poll(sse.PollRequest{})
	equal(t, []any{len(got.Events), got.Cursor, got.Truncated, got.Ended}, []any{256, ids[255], false, false})
	got = poll(sse.PollRequest{After: got.Cursor})
	equal(t, []any{len(got.Events), got.Cursor}, []any{44, ids[299]})
	got = poll(sse.PollRequest{After: got.Cursor, Wait: time.Millisecond})
	equal(t, []any{len(got.Events), got.Cursor}, []any{0, ids[299]})
	got = poll(sse.PollRequest{After: "evt_x"})
	equal(t, []any{got.Truncated, got.Cursor}, []any{true, ids[255]})

	var waiting sync.WaitGroup
	waiting.Go(func() { got, _ = sse.Poll(ctx, log, sse.PollRequest{After: ids[299], Wait: soon}) })
	more := log.fill(1)
	waiting.Wait()
	equal(t, got.Cursor, more[0])
	log.end()
	equal(t, poll(sse.PollRequest{After: more[0], Wait: soon}).Ended, true)
}
