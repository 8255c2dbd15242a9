package e2e

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// topRow is what `top -o json` says of a session.
type topRow struct {
	Name        string
	Status      string
	CPUPercent  *float64                        `json:"cpu_percent"`
	CPUSeconds  float64                         `json:"cpu_seconds"`
	MemoryBytes int64                           `json:"memory_bytes"`
	DiskBytes   int64                           `json:"disk_bytes"`
	ReadAt      time.Time                       `json:"read_at"`
	ToolCall    *struct{ Name, Summary string } `json:"tool_call"`
	Run         *struct{ State string }
}

// top gives what `top -o json` prints, by session.
func (s *server) top() (rows map[string]topRow, first string) {
	s.t.Helper()
	out, errs, code := s.cli("top", "-o", "json")
	var table struct{ Sessions []json.RawMessage }
	if err := json.Unmarshal([]byte(out), &table); err != nil || code != 0 {
		s.t.Fatalf("top: %d %v\n%s%s", code, err, out, errs)
	}
	rows = map[string]topRow{}
	for i, raw := range table.Sessions {
		var row topRow
		if err := json.Unmarshal(raw, &row); err != nil {
			s.t.Fatal(err)
		}
		rows[row.Name] = row
		if i == 0 {
			first = row.Name
		}
	}
	return rows, first
}

// The table says who is busy and with what, as the host has it, and leaves asleep
// who sleeps; also after the server was killed in the middle.
func TestTop(t *testing.T) {
	s := startServer(t)
	busy := s.create("agent: demo\nname: busy\npermissions: {default: allow}\n")
	idle := s.create("agent: none\nname: idle\n")
	s.create("agent: none\nname: asleep\n")
	if _, err := s.client().HostedAgents.PauseSession(context.Background(), "asleep"); err != nil {
		t.Fatal(err)
	}
	s.sh(idle.SessionID, "head -c 20000000 /dev/urandom > big && sync")
	s.send(busy.SessionID, "run timeout 120 sh -c 'while :; do :; done'")
	s.waitEvent(busy.SessionID, func(e godo.HostedAgentEvent) bool { return e.Kind == "run.tool_call_started" })

	check := func(when string) {
		t.Helper()
		before, from := host.Ticks(host.Tree(host.Processes(busy.SandboxID)...)...), time.Now()
		rows, first := s.top()
		ticks, took := host.Ticks(host.Tree(host.Processes(busy.SandboxID)...)...)-before, time.Since(from)
		b := rows["busy"]
		if first != "busy" || b.CPUPercent == nil || *b.CPUPercent < 10 || b.Run == nil || b.Run.State != "RUN_STATE_RUNNING" {
			t.Fatalf("%s: first is %s, and busy %+v", when, first, b)
		}
		if hosts := float64(ticks) / took.Seconds(); *b.CPUPercent > 2.5*hosts+20 || *b.CPUPercent < hosts/2.5-20 {
			t.Errorf("%s: busy uses %.0f %% of a CPU, and the host says %.0f %%", when, *b.CPUPercent, hosts)
		}
		if b.ToolCall == nil || b.ToolCall.Summary != "timeout 120 sh -c 'while :; do :; done'" {
			t.Errorf("%s: busy is at %+v", when, b.ToolCall)
		}
		if i, on := rows["idle"], s.written(idle.SandboxID); i.DiskBytes < 20_000_000 || i.DiskBytes < on-1<<20 || i.DiskBytes > on+1<<20 || i.MemoryBytes < 1<<20 {
			t.Errorf("%s: idle is %+v, and the host has %d bytes of it on disk", when, i, on)
		}
		if a := rows["asleep"]; a.Status != "SESSION_STATUS_PAUSED" || a.CPUPercent == nil || *a.CPUPercent != 0 || a.MemoryBytes < 1<<20 {
			t.Errorf("%s: asleep is %+v", when, a)
		}
	}
	check("at first")
	s.kill()
	s.restart()
	check("after a crash")
	if _, _, code := s.cli("cancel", "busy"); code != 0 {
		t.Error("the run could not be cancelled")
	}
	eventually(t, "nothing is shown of a run that ended", func() bool {
		rows, _ := s.top()
		return rows["busy"].ToolCall == nil && rows["busy"].Run == nil
	})
}
