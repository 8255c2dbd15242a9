package codex

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/guestapi"
)

// Anybody in the sandbox may knock; who says nothing sensible, or knocks too
// often, is told nothing, and keeps nobody else out for good.
func TestGateIsBounded(t *testing.T) {
	s := newStage(t)
	if end := s.turn("say up", nobody); end.Outcome != guestapi.EndCompleted {
		t.Fatalf("%+v", end)
	}
	for _, text := range []string{"nonsense\n", "{}\n", `{"hook":null}` + "\n", strings.Repeat("x", 100) + "\n"} {
		c := knock(t, s)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
			t.Errorf("%q was answered %q, %v", text, b, err)
		}
	}
	s.gone(t)
	var idle []net.Conn
	for range maxAskers + 8 { // those that are accepted stay open, the others are closed
		idle = append(idle, knock(t, s))
	}
	var closed atomic.Int64
	var readers sync.WaitGroup
	for _, c := range idle {
		_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		readers.Go(func() {
			if _, err := c.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
				closed.Add(1)
			}
		})
	}
	readers.Wait()
	if n := closed.Load(); n != 8 {
		t.Errorf("%d of %d were turned away", n, len(idle))
	}
	for _, c := range idle {
		_ = c.Close()
	}
	s.gone(t)
	answer, err := inquire(s.places.socket, gateAsk{Hook: &hookCall{Thread: "thread-1", ID: "x", Tool: shellTool}}, time.Minute)
	if err != nil || answer.Pass || answer.Hook == nil || answer.Hook.Output.Reason != noTurn {
		t.Errorf("between turns: %+v %v", answer, err)
	}
}

func knock(t *testing.T, s stage) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", s.places.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// gone waits until nobody is at the gate.
func (s stage) gone(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s.gate.mu.Lock()
		n := len(s.gate.conns)
		s.gate.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("somebody stays at the gate")
		}
	}
}
