package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// metrics reads what the server shows to whoever asks, by name and labels.
func (s *server) metrics() map[string]float64 {
	s.t.Helper()
	response, err := http.Get("http://" + s.addr + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("metrics: %d %v", response.StatusCode, err)
	}
	values := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, number, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if ok {
			name += "}"
		} else {
			name, number, ok = strings.Cut(strings.TrimSpace(line), " ")
		}
		if n, err := strconv.ParseFloat(number, 64); ok && err == nil {
			values[name] = n
		}
	}
	return values
}

// What /metrics says is what the host says, also after the server was killed.
func TestMetricsAgreeWithTheHost(t *testing.T) {
	s := startServer(t, "--pool", "1")
	s.waitSpares(1)
	sess := s.create("agent: demo\nname: measured\npermissions: {default: allow}\n")
	s.waitSpares(1, sess.SandboxID)
	s.turn(sess.SessionID, "hello")
	s.sh(sess.SessionID, "head -c 30000000 /dev/urandom > big && sync")
	wantRefusal(t, s.pauseAndResume("nobody-of-this-name"), http.StatusNotFound, "no session")

	check := func(when string, want map[string]float64) {
		t.Helper()
		got := s.metrics()
		for name, n := range want {
			if got[name] != n {
				t.Errorf("%s: %s is %v, want %v", when, name, got[name], n)
			}
		}
		near := func(name string, host, tolerance float64) {
			t.Helper()
			if n := got[name]; n < host-tolerance || n > host+tolerance || host <= 0 {
				t.Errorf("%s: %s is %.0f, and the host says %.0f", when, name, n, host)
			}
		}
		const mib = 1 << 20
		near(`paddock_sandbox_disk_bytes{owner="session"}`, float64(s.written(sess.SandboxID)), mib)
		near(`paddock_host_memory_bytes`, meminfo(t, "MemTotal:"), 0)
		near(`paddock_host_memory_free_bytes`, meminfo(t, "MemAvailable:"), 512*mib)
		near(`process_resident_memory_bytes`, statusBytes(t, s.cmd.Process.Pid, "VmRSS:"), 24*mib)
		if n := got[`paddock_sandbox_memory_bytes{owner="session"}`]; n < 4*mib || n > groupMemory(t, sess.SandboxID)+mib {
			t.Errorf("%s: a session's sandbox uses %.0f bytes of memory, and its group %.0f", when, n, groupMemory(t, sess.SandboxID))
		}
		if n := got[`paddock_sandbox_disk_bytes{owner="session"}`]; n < 30_000_000 {
			t.Errorf("%s: %.0f bytes on disk, 30 MB were written", when, n)
		}
	}
	check("at first", map[string]float64{
		`paddock_sessions{state="ready"}`: 1, `paddock_sessions{state="provisioning"}`: 0, `paddock_runs{state="running"}`: 0,
		`paddock_runs_ended_total{outcome="completed"}`: 1, `paddock_events_total{kind="run.completed"}`: 1, `paddock_adopted_sessions`: 0,
		`paddock_pool_spares{state="ready"}`: 1, `paddock_pool_spares{state="wanted"}`: 1,
		`paddock_verb_duration_seconds_count{outcome="ok",verb="create"}`: 1, `paddock_verb_duration_seconds_count{outcome="ok",verb="exec"}`: 1,
		`paddock_http_request_duration_seconds_count{method="POST",route="/sessions/{session}/pause",status="4xx"}`: 1,
	})
	if n := s.metrics()["paddock_event_lag_seconds_count"]; n < 3 {
		t.Errorf("the lag of %v commits was measured", n)
	}
	if err := s.pauseAndResume(sess.SessionID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client().HostedAgents.PauseSession(context.Background(), sess.SessionID); err != nil {
		t.Fatal(err)
	}
	check("paused", map[string]float64{
		`paddock_sessions{state="ready"}`: 0, `paddock_sessions{state="paused"}`: 1,
		`paddock_verb_duration_seconds_count{outcome="ok",verb="pause"}`: 2, `paddock_verb_duration_seconds_count{outcome="ok",verb="resume"}`: 1,
	})

	s.kill()
	s.restart()
	check("after a crash", map[string]float64{
		`paddock_sessions{state="paused"}`: 1, `paddock_adopted_sessions`: 1, `paddock_runs_ended_total{outcome="completed"}`: 0,
	})
	if got := s.get(sess.SessionID); got.Status != godo.HostedAgentSessionStatusPaused {
		t.Errorf("who is looked at is %s", got.Status)
	}
	if _, err := s.client().HostedAgents.DestroySession(context.Background(), sess.SessionID); err != nil {
		t.Fatal(err)
	}
	s.waitGone(sess.SandboxID)
	eventually(t, "the removal is counted", func() bool {
		got := s.metrics()
		return got[`paddock_sessions{state="destroying"}`] == 0 && got[`paddock_verb_duration_seconds_count{outcome="ok",verb="remove"}`] == 1
	})
}

// pauseAndResume pauses a session and resumes it.
func (s *server) pauseAndResume(id string) error {
	if _, err := s.client().HostedAgents.PauseSession(context.Background(), id); err != nil {
		return err
	}
	_, err := s.client().HostedAgents.ResumeSession(context.Background(), id)
	return err
}

// groupMemory gives the memory of a sandbox's control group, files included.
func groupMemory(t *testing.T, sandbox string) float64 {
	t.Helper()
	for _, group := range host.Cgroups(sandbox) {
		for _, name := range []string{"memory.usage_in_bytes", "memory.current"} {
			text, err := os.ReadFile(filepath.Join(group, name))
			if err != nil {
				continue
			}
			if n, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil && n > 0 {
				return n
			}
		}
	}
	t.Fatalf("sandbox %s has no group that counts memory", sandbox)
	return 0
}

func meminfo(t *testing.T, line string) float64 { return kilobytes(t, "/proc/meminfo", line) }

func statusBytes(t *testing.T, pid int, line string) float64 {
	return kilobytes(t, filepath.Join("/proc", strconv.Itoa(pid), "status"), line)
}

// kilobytes reads a line of a file of /proc, in bytes.
func kilobytes(t *testing.T, path, line string) float64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut("\n"+string(text), "\n"+line)
	n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * 1024
}
