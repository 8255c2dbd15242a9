package codex

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"paddock/internal/guestapi"
)

// What one who asks without end may cost. Codex asks about a few calls at a time;
// of one that is too long, or too many, nothing is let through.
const (
	maxAsked   = 4 << 20 // bytes of a question: patches are long
	maxAskers  = 32      // at a time
	askingTime = 10 * time.Second
)

// gateAsk is a question of the hook or the gate, gateAnswer the answer: one line of JSON each.
type gateAsk struct {
	Hook *hookCall `json:"hook,omitempty"`
	Gate string    `json:"gate,omitempty"`
}

type gateAnswer struct {
	Pass    bool        `json:"pass,omitempty"` // the call may go on
	Hook    *hookAnswer `json:"hook,omitempty"` // what Codex is told otherwise
	Run     string      `json:"run,omitempty"`
	Refused string      `json:"refused,omitempty"`
}

// gate is where the hook and the gate ask. Anybody in the sandbox may: it
// answers with decisions, and hands out no command that was not allowed.
type gate struct {
	adapter  *adapter
	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // nil once closed
}

func openGate(socket string, a *adapter) (*gate, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the gate: %w", err)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open the gate: %w", err)
	}
	l, err := net.Listen("unix", socket)
	if err == nil {
		err = os.Chmod(socket, 0o666)
	}
	if err != nil {
		return nil, fmt.Errorf("open the gate: %w", err)
	}
	g := &gate{adapter: a, listener: l, conns: map[net.Conn]bool{}}
	g.work.Go(g.accept)
	return g, nil
}

func (g *gate) accept() {
	for {
		conn, err := g.listener.Accept()
		if err != nil {
			return // closed
		}
		g.mu.Lock()
		taken := g.conns != nil && len(g.conns) < maxAskers
		if taken {
			g.conns[conn] = true
		}
		g.mu.Unlock()
		if !taken {
			_ = conn.Close()
			continue
		}
		g.work.Go(func() { g.serve(conn) })
	}
}

// close ends the gate; what it does is done when it returns.
func (g *gate) close() {
	_ = g.listener.Close()
	g.mu.Lock()
	for conn := range g.conns {
		_ = conn.Close()
	}
	g.conns = nil
	g.mu.Unlock()
	g.work.Wait()
}

// serve answers one question. Whoever asks something else is told nothing: the
// hook and the gate let nothing through then.
func (g *gate) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		g.mu.Lock()
		delete(g.conns, conn)
		g.mu.Unlock()
	}()
	_ = conn.SetReadDeadline(time.Now().Add(askingTime)) // a connection has deadlines
	line, err := bufio.NewReader(io.LimitReader(conn, maxAsked)).ReadBytes('\n')
	var asked gateAsk
	if err != nil || json.Unmarshal(line, &asked) != nil {
		return
	}
	var answer gateAnswer
	switch {
	case asked.Hook != nil:
		answer.Hook = g.adapter.judge(*asked.Hook)
		answer.Pass = answer.Hook == nil
	case asked.Gate != "":
		answer.Run, answer.Refused = g.adapter.pass(asked.Gate)
	default:
		return
	}
	_ = json.NewEncoder(conn).Encode(answer) // whoever is gone wants no answer
}

// pass gives the command that the gate is to run, once it is allowed, or why it
// is not.
func (a *adapter) pass(id string) (command, refused string) {
	t := a.current()
	var c *call
	if t != nil {
		c = t.gated(id)
	}
	if c == nil {
		return "", "nothing waits for that"
	}
	select {
	case <-c.decided:
	case <-a.keeper.Life().Done():
		return "", noTurn
	}
	t.Lock()
	defer t.Unlock()
	switch {
	case c.answer.Decision != guestapi.Allow:
		return "", rejection(c.answer)
	case c.ran || t.Over || t.Cancelled:
		return "", "it was allowed once"
	}
	c.ran = true
	return cmp.Or(edited(c.answer.Input), c.command), ""
}

// gated finds the call that waits behind the gate under an id.
func (t *turn) gated(id string) *call {
	t.Lock()
	defer t.Unlock()
	for _, c := range t.calls {
		if c.gate == id {
			return c
		}
	}
	return nil
}
