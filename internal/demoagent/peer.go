package demoagent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
)

type object map[string]any

// message is one JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// rpcError is an error as the client gets it.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    object `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

// peer is one end of a JSON-RPC connection over lines.
type peer struct {
	mu      sync.Mutex // held across a write, so that lines stay whole
	out     io.Writer
	next    int
	waiting map[string]chan message
}

func newPeer(out io.Writer) *peer {
	return &peer{out: out, waiting: map[string]chan message{}}
}

// read gives what the client asks to serve, and answers to whoever asked.
func (p *peer) read(in io.Reader, serve func(message)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var m message
			if e := json.Unmarshal(line, &m); e != nil {
				p.write(object{"id": nil, "error": &rpcError{Code: -32700, Message: "parse error: " + e.Error()}})
			} else if m.Method != "" {
				serve(m)
			} else {
				p.deliver(m)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *peer) deliver(m message) {
	p.mu.Lock()
	ch := p.waiting[string(m.ID)]
	delete(p.waiting, string(m.ID))
	p.mu.Unlock()
	if ch != nil {
		ch <- m
	}
}

func (p *peer) write(o object) {
	o["jsonrpc"] = "2.0"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		panic(err) // our own values always encode
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.out.Write(b.Bytes()) // a client that is gone ends our input, too
}

// answer ends a request; notifications want no answer.
func (p *peer) answer(m message, result any, err error) {
	if len(m.ID) == 0 {
		return
	}
	if err == nil {
		p.write(object{"id": m.ID, "result": result})
		return
	}
	var e *rpcError
	if !errors.As(err, &e) {
		e = &rpcError{Code: -32603, Message: err.Error()}
	}
	p.write(object{"id": m.ID, "error": e})
}

// call asks the client and waits for its answer.
func (p *peer) call(ctx context.Context, method string, params object, result any) error {
	ch := make(chan message, 1)
	p.mu.Lock()
	p.next++
	id := strconv.Itoa(p.next)
	p.waiting[id] = ch
	p.mu.Unlock()
	p.write(object{"id": json.RawMessage(id), "method": method, "params": params})
	select {
	case m := <-ch:
		if m.Error != nil {
			return m.Error
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
		return ctx.Err()
	}
}

// update sends a session/update.
func (p *peer) update(session string, update object) {
	p.write(object{"method": "session/update", "params": object{"sessionId": session, "update": update}})
}

func text(s string) object { return object{"type": "text", "text": s} }
