package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/sandbox"
	"paddock/internal/session"
)

// Who looks sees his team's sessions only, wakes nobody, keeps nobody awake, and
// has the driver asked once about what is frozen.
func TestToLookIsNoActivity(t *testing.T) {
	h := newHouse(t)
	v := h.create(demoSpec)
	m := h.driver.only(t)
	m.use(sandbox.Stats{CPU: time.Second, Memory: 5 * mega, Disk: 7 * mega, Full: 100 * mega})
	idle := h.view(v.Name).IdleAt
	look := func() SandboxStats {
		t.Helper()
		list, next, err := h.SandboxStats(t.Context(), h.team, 0, "")
		if err != nil || len(list) != 1 || next != "" {
			t.Fatalf("%v, %q, %v", list, next, err)
		}
		return list[0]
	}
	if s := look(); s.ID != v.ID || s.CPU != time.Second || s.Memory != 5*mega || s.Disk != 7*mega || s.Limit != 100*mega || s.ReadAt.IsZero() {
		t.Errorf("%+v", s)
	}
	if other, _, err := h.SandboxStats(t.Context(), h.otherTeam(), 0, ""); err != nil || len(other) != 0 {
		t.Errorf("another team sees %v, %v", other, err)
	}
	if at := h.view(v.Name).IdleAt; !at.Equal(idle) {
		t.Errorf("to look put off the idle pause from %s to %s", idle, at)
	}
	if _, err := h.Pause(t.Context(), h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	first := look()
	looks := m.use(sandbox.Stats{CPU: time.Hour})
	if again := look(); again.CPU != first.CPU || !again.ReadAt.Equal(first.ReadAt) || again.State != session.Paused {
		t.Errorf("%+v after %+v", again, first)
	}
	if n := m.use(sandbox.Stats{CPU: time.Hour}); n != looks || !m.Paused() {
		t.Errorf("what is frozen was read again")
	}
	if err := h.Resume(t.Context(), h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new reading", func() bool { return look().CPU == time.Hour })
}

func TestOpenToolCalls(t *testing.T) {
	var calls toolCalls
	note := func(kind event.Kind, payload any) {
		data, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		calls.note(kind, data, time.Now())
	}
	start := func(id, input string) {
		note(event.ToolCallStarted, event.ToolStarted{ToolCallID: id, Name: "tool", Input: json.RawMessage(input)})
	}
	for _, c := range []struct{ input, summary string }{
		{`{"command":"make\n  all"}`, "make all"}, {`{"command":["go","test"]}`, "go test"}, {`{"path":"a.go","content":"x"}`, "a.go"},
		{`{"query":"x"}`, `{"query":"x"}`}, {`null`, ""}, {`"` + strings.Repeat("é", 300) + `"`, `"` + strings.Repeat("é", 198) + "…"},
	} {
		start("x", c.input)
		if got := calls.newest().Summary; got != c.summary {
			t.Errorf("%s is %q", c.input, got)
		}
	}
	calls.end()
	start("a", `{}`)
	start("b", `{}`)
	note(event.ToolCallCompleted, event.ToolCompleted{ToolCallID: "b"})
	if got := calls.newest(); got == nil || got.ID != "a" {
		t.Errorf("a is open, and %+v is shown", got)
	}
	note(event.ToolCallCompleted, event.ToolCompleted{ToolCallID: "a"})
	note(event.ToolCallStarted, "nonsense")
	if got := calls.newest(); got != nil {
		t.Errorf("nothing is open, and %+v is shown", got)
	}
	for i := range 1000 {
		start(fmt.Sprint(i), `{}`)
	}
	if len(calls.open) != mostCalls {
		t.Errorf("%d calls are remembered", len(calls.open))
	}
}
