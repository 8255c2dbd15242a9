package metrics

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"paddock/internal/event"
	"paddock/internal/session"
)

func text(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// Whatever comes from outside makes no label of its own.
func TestLabelsAreClosed(t *testing.T) {
	m := New("v1")
	m.Call("BREW", OtherRoute, 0, time.Second)
	m.Call("GET", "/sessions/{session}", 404, time.Millisecond)
	end := m.Begin("/events")
	got := text(m)
	for _, want := range []string{
		`paddock_http_request_duration_seconds_count{method="other",route="other",status="none"} 1`,
		`paddock_http_request_duration_seconds_count{method="GET",route="/sessions/{session}",status="4xx"} 1`,
		`paddock_http_requests_in_flight{route="/events"} 1`, `paddock_build_info{version="v1"} 1`,
		`paddock_sessions{state="paused"} 0`, `paddock_runs_ended_total{outcome="failed"} 0`, `paddock_events_total{kind="policy.denied"} 0`,
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s", want)
		}
	}
	end()
	if got := text(m); !strings.Contains(got, `paddock_http_requests_in_flight{route="/events"} 0`) || strings.Contains(got, "BREW") {
		t.Error(got)
	}
}

func TestTallies(t *testing.T) {
	m := New("v1")
	m.Start(map[session.State]int{session.Paused: 7}, map[session.RunState]int{session.RunQueued: 2, session.RunFailed: 9})
	var there, back Tally
	there.Session(session.Paused, session.Ready)
	there.Session(session.Ready, session.Ready)
	there.Run(session.RunQueued, session.RunRunning)
	there.Event(event.RunStarted)
	back.Session(session.Ready, session.Destroyed)
	back.Run(session.RunRunning, session.RunFailed)
	m.Count(back) // in whatever order
	m.Count(there)
	got := text(m)
	for _, want := range []string{
		`paddock_sessions{state="paused"} 6`, `paddock_sessions{state="ready"} 0`, `paddock_runs{state="queued"} 1`, `paddock_runs{state="running"} 0`,
		`paddock_runs_ended_total{outcome="failed"} 1`, `paddock_events_total{kind="run.started"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(got, "destroyed") {
		t.Error("destroyed sessions are counted")
	}
}

func TestReadings(t *testing.T) {
	m, reads := New("v1"), 0
	m.Watch(func() Reading {
		reads++
		return Reading{Adopted: 1, Ready: 2, Making: 3, Wanted: 4, Sessions: Use{5, 6}, Spares: Use{7, 8}, Host: Host{9, 10, 11, 12}}
	})
	got := text(m)
	for _, want := range []string{
		"paddock_adopted_sessions 1", `paddock_pool_spares{state="ready"} 2`, `paddock_pool_spares{state="making"} 3`, `paddock_pool_spares{state="wanted"} 4`,
		`paddock_sandbox_memory_bytes{owner="session"} 5`, `paddock_sandbox_disk_bytes{owner="session"} 6`,
		`paddock_sandbox_memory_bytes{owner="spare"} 7`, `paddock_sandbox_disk_bytes{owner="spare"} 8`,
		"paddock_host_memory_bytes 9", "paddock_host_memory_free_bytes 10", "paddock_host_disk_bytes 11", "paddock_host_disk_free_bytes 12",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if reads != 1 {
		t.Errorf("read %d times for one look", reads)
	}
}

// The names are as Prometheus wants them.
func TestNames(t *testing.T) {
	m := New("v1")
	m.Watch(func() Reading { return Reading{Host: Host{Memory: 1}} })
	m.Verb(Exec, time.Second, nil)
	m.Lag(time.Millisecond)
	m.Update(time.Millisecond)
	problems, err := promlint.New(strings.NewReader(text(m))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestNobodyLooks(t *testing.T) {
	var m *Metrics
	m.Verb(Exec, time.Second, nil)
	m.Call("GET", OtherRoute, 200, time.Second)
	m.Begin(OtherRoute)()
	m.Lag(time.Second)
	m.Update(time.Second)
	m.Count(Tally{})
	m.Start(nil, nil)
	m.Watch(nil)
}
