package top

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"paddock/client"
)

var start = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func reading1(name string, at time.Duration, cpu float64) client.SandboxStats {
	return client.SandboxStats{SessionID: "sess_" + name, Name: name, Status: client.SessionReady, ReadAt: start.Add(at), CPUSeconds: cpu}
}

func TestCPUIsTheDifferenceOfTwoReadings(t *testing.T) {
	frozen := reading1("frozen", 0, 7)
	frozen.Status = client.SessionPaused
	restarted := reading1("restarted", 0, 50)
	before := NewTable(start, []client.SandboxStats{reading1("busy", 0, 10), reading1("same", 0, 1), frozen, restarted, {SessionID: "sess_up", Name: "up"}}, Table{})
	for _, r := range before.Sessions {
		if r.CPUPercent != nil {
			t.Errorf("%s has %v %% after one reading", r.Name, *r.CPUPercent)
		}
	}
	after := NewTable(start.Add(2*time.Second), []client.SandboxStats{
		reading1("busy", 2*time.Second, 13), reading1("same", 0, 1), frozen, reading1("restarted", 2*time.Second, 1), reading1("up", 2*time.Second, 1), reading1("new", 2*time.Second, 1),
	}, before)
	want := map[string]string{"busy": "150", "same": "-", "frozen": "0", "restarted": "-", "up": "-", "new": "-"}
	for _, r := range after.Sessions {
		if got := r.cpu(); got != want[r.Name] {
			t.Errorf("%s: %s %%, want %s", r.Name, got, want[r.Name])
		}
	}
}

func TestOrders(t *testing.T) {
	percent := func(p float64) *float64 { return &p }
	row := func(name string, cpu *float64, memory, disk int64, status string, age time.Duration) Row {
		return Row{client.SandboxStats{Name: name, MemoryBytes: memory, DiskBytes: disk, Status: status, CreatedAt: start.Add(-age)}, cpu}
	}
	table := Table{Sessions: []Row{
		row("c", nil, 3, 1, client.SessionReady, 3), row("b", percent(0), 2, 2, client.SessionPaused, 1), row("a", percent(9), 1, 2, client.SessionReady, 2),
	}}
	for order, want := range map[string]string{"cpu": "abc", "memory": "cba", "disk": "abc", "name": "abc", "state": "bac", "age": "bac"} {
		table.Sort(order)
		got := ""
		for _, r := range table.Sessions {
			got += r.Name
		}
		if got != want {
			t.Errorf("by %s: %s, want %s", order, got, want)
		}
	}
	for key, order := range keys {
		if !strings.HasPrefix(order, key) {
			t.Errorf("%s is for %s", key, order)
		}
	}
	if len(keys) != len(Orders) {
		t.Error("not every order has its key")
	}
}

// Whatever the sessions are called and do, and however small the terminal is,
// nothing is wider or higher than it.
func TestLinesFit(t *testing.T) {
	var stats []client.SandboxStats
	for i := range 40 {
		s := reading1(strings.Repeat(string(rune('a'+i%26)), 1+i), 0, 1)
		s.Run = &client.ActiveRun{State: client.RunRunning}
		s.ToolCall = &client.OpenToolCall{Name: "bash", Summary: strings.Repeat("長い\x1b[2J ", 30)}
		stats = append(stats, s)
	}
	table := NewTable(start, stats, Table{})
	for _, size := range [][2]int{{80, 24}, {40, 10}, {200, 100}, {10, 3}, {80, 1}} {
		lines := table.Lines(size[0], size[1])
		if len(lines) > size[1] {
			t.Errorf("%d lines in %v", len(lines), size)
		}
		for _, l := range lines {
			if ansi.StringWidth(l) > size[0] || strings.ContainsAny(l, "\x1b\n") {
				t.Errorf("in %v: %q", size, l)
			}
		}
	}
	if last := table.Lines(80, 24)[23]; last != "… and 19 more" {
		t.Errorf("the last line is %q", last)
	}
	if lines := table.Lines(80, 24); !strings.Contains(lines[2], "bash") {
		t.Errorf("80 columns have no room for what a session is at: %q", lines[2])
	}
	if lines := (Table{}).Lines(80, 24); len(lines) != 2 || !strings.HasPrefix(lines[0], "0 sessions: ") {
		t.Errorf("%q", lines)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 KiB", 20 << 10: "20 KiB", 1536 << 20: "1.5 GiB", 1 << 50: "1024 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// The screen reads again and again, goes on after an error, takes keys, and
// leaves.
func TestScreen(t *testing.T) {
	var fail error
	m := newModel(t.Context(), Config{
		Read: func(_ context.Context, before Table) (Table, error) {
			at := time.Duration(len(before.Sessions)) * time.Second
			return NewTable(start, []client.SandboxStats{reading1("b", at, 2*at.Seconds()), reading1("a", at, 0)}, before), fail
		},
		Explain: func(err error) string { return "it says " + err.Error() }, Every: time.Hour, Order: "cpu",
	})
	m.Update(tea.WindowSizeMsg{Width: 60, Height: 8})
	m.Update(m.Init()())
	if _, next := m.Update(again{}); next == nil {
		t.Fatal("it does not look again")
	} else {
		m.Update(next())
	}
	screen := func() string { return ansi.Strip(m.View().Content) }
	if got := screen(); !strings.Contains(got, "CPU 200 %") || strings.Index(got, "\nb ") > strings.Index(got, "\na ") || strings.Count(got, "\n") > 7 {
		t.Errorf("the screen is\n%s", got)
	}
	m.Update(tea.KeyPressMsg{Code: 'n', Text: "n"})
	if got := screen(); strings.Index(got, "\nb ") < strings.Index(got, "\na ") || !strings.Contains(got, "by name") {
		t.Errorf("by name the screen is\n%s", got)
	}
	fail = errors.New("no")
	m.Update(m.read(m.table)())
	if got := screen(); !strings.Contains(got, "it says no") || !strings.Contains(got, "\na ") {
		t.Errorf("after an error the screen is\n%s", got)
	}
	if _, cmd := m.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil {
		t.Error("q does not leave")
	} else if _, quits := cmd().(tea.QuitMsg); !quits {
		t.Error("q does not leave")
	}
}
