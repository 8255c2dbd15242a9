package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"paddock/internal/fault"
	"paddock/internal/server/sse"
)

// What a query is accepted with is known, and given once.
func FuzzCheckQuery(f *testing.F) {
	for _, q := range []string{"", "a=1", "a=1&b=2", "a=1&a=2", "c", "a=%zz", "a;b", "%61=1&a=2", "a", "=", "&&", "a=1#b", "a=\x00"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := &http.Request{URL: &url.URL{RawQuery: raw}}
		err := checkQuery(r, []string{"a", "b"})
		if err != nil {
			if !fault.Is(err, fault.BadRequest) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		for name, values := range r.URL.Query() {
			if name != "a" && name != "b" || len(values) != 1 {
				t.Fatalf("%q was accepted with %q=%q", raw, name, values)
			}
		}
	})
}

// A range lies within what can be asked for, and is a range only when it is one.
func FuzzReadRange(f *testing.F) {
	for _, h := range []string{"", "bytes=0-", "bytes=1-2", "bytes=-5", "bytes=-0", "bytes=5-1", "bytes=1-2,3-4", "bytes= 1-2 ", "bytes=+1-2", "bytes=99999999999999999999-", "bytes=4611686018427387903-4611686018427387903", "lines=1-2", "bytes="} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, text string) {
		part, ranged := readRange(http.Header{"Range": {text}})
		switch {
		case !ranged && part != byteRange{length: -1}:
			t.Fatalf("%q is no range but %+v", text, part)
		case part.from < 0, part.length < -1, ranged && part.length == 0, part.last && part.length <= 0, part.from+max(0, part.length) < 0:
			t.Fatalf("%q is %+v", text, part)
		}
	})
}

// A stream's request is refused in words or has sane bounds.
func FuzzStreamRequest(f *testing.F) {
	for _, q := range []string{"", "cursor=evt_x", "replay_only=true&before=x&limit=5", "limit=-1", "limit=99999999999", "replay_only=maybe", "before=x", "wait=1h&after=x", "wait=-1s", "wait=9e99h"} {
		f.Add(q, "evt_1")
	}
	f.Fuzz(func(t *testing.T, raw, last string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.RawQuery = raw
		r.Header.Set("Last-Event-ID", last)
		want, err := sse.Parse(r)
		if err == nil && (want.Limit < 1 || want.Limit > 1000 || want.Before != "" && !want.ReplayOnly) || err != nil && !fault.Is(err, fault.BadRequest) {
			t.Fatalf("%q: %+v %v", raw, want, err)
		}
		poll, err := sse.ParsePoll(r)
		if err == nil && (poll.Wait < 0 || poll.Wait.Seconds() > 60) || err != nil && !fault.Is(err, fault.BadRequest) {
			t.Fatalf("%q: %+v %v", raw, poll, err)
		}
	})
}

// A path is either as it is written or not there: none is redirected.
func FuzzPaths(f *testing.F) {
	for _, p := range []string{"/", "/v2/agents/sessions", "//", "/v2/../healthz", "/v2/agents/sessions/%2e%2e", "/v2/agents/sessions/a%2fb", "/v2/agents/sessions/%00/events", "/healthz/", "/%", "/v2/agents/./x", "/\xff"} {
		f.Add(p)
	}
	h := newHandler(newStage(), Options{})
	f.Fuzz(func(t *testing.T, path string) {
		at, err := url.ParseRequestURI(path)
		if err != nil || at.Host != "" || at.Scheme != "" || at.Opaque != "" {
			return
		}
		r := &http.Request{Method: "PUT", URL: at, RequestURI: path, Header: http.Header{}, Body: http.NoBody, Host: "x"}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 404 && w.Code != 405 && w.Code != 401 && w.Code != 431 {
			t.Fatalf("%q: %d %s", path, w.Code, w.Body)
		}
		errorOf(t, call{w.Code, w.Header(), w.Body.String()})
	})
}
