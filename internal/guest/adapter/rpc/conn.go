// Package rpc is the JSON-RPC 2.0 that agents speak on their standard input and
// output: calls of ours with their answers, and Frames of theirs.
package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"paddock/internal/guest/adapter/program"
)

// Conn is the JSON-RPC side of a running agent: calls and their answers.
type Conn struct {
	*program.Program

	mu      sync.Mutex
	next    int64
	waiting map[string]chan Frame
}

// New makes the side of a program that is not started; it takes messages already.
func New() *Conn { return &Conn{Program: program.New(), waiting: map[string]chan Frame{}} }

// send puts a message into the queue.
func (c *Conn) send(o outgoing) program.Mark { return c.Send(o.line()) }

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) { c.send(outgoing{Method: method, Params: params}) }

// Answer answers a request of the agent.
func (c *Conn) Answer(id json.RawMessage, result any) { c.send(outgoing{ID: id, Result: result}) }

// Refuse answers a request of the agent with an error.
func (c *Conn) Refuse(id json.RawMessage, code int, message string) {
	c.send(outgoing{ID: id, Error: &Error{Code: code, Message: message}})
}

// Pending is a call whose answer has not come.
type Pending struct {
	conn   *Conn
	id     string
	answer chan Frame
	end    program.Mark
}

// Begin sends a request. The caller waits for the answer, in any goroutine.
func (c *Conn) Begin(method string, params any) Pending {
	c.mu.Lock()
	c.next++
	id := strconv.FormatInt(c.next, 10)
	p := Pending{conn: c, id: id, answer: make(chan Frame, 1)}
	c.waiting[id] = p.answer
	c.mu.Unlock()
	p.end = c.send(outgoing{ID: json.RawMessage(id), Method: method, Params: params})
	return p
}

// Missed says whether the agent has ended without having read the call, so that
// it cannot have begun with what it is asked for.
func (p Pending) Missed() bool {
	select {
	case <-p.conn.Gone():
		return p.conn.Program.Missed(p.end)
	default:
		return false
	}
}

// IsAnswer says whether a frame is the answer to the call.
func (p Pending) IsAnswer(f Frame) bool { return f.Method == "" && string(f.ID) == p.id }

// Wait gives the result of the call: into result, or as an error that is an
// *Error where the agent said no.
func (p Pending) Wait(ctx context.Context, result any) (Frame, error) {
	select {
	case f := <-p.answer:
		return f, f.into(result)
	default:
	}
	select {
	case f := <-p.answer:
		return f, f.into(result)
	case <-p.conn.Gone():
		select {
		case f := <-p.answer: // it came just before the end
			return f, f.into(result)
		default:
			return Frame{}, p.conn.Err()
		}
	case <-ctx.Done():
		p.conn.mu.Lock()
		delete(p.conn.waiting, p.id)
		p.conn.mu.Unlock()
		return Frame{}, context.Cause(ctx)
	}
}

func (f Frame) into(result any) error {
	if f.Error != nil {
		return f.Error
	}
	if len(f.Result) == 0 || result == nil {
		return nil
	}
	if err := json.Unmarshal(f.Result, result); err != nil {
		return fmt.Errorf("the agent's answer cannot be read: %w", err)
	}
	return nil
}

// Call sends a request and waits for its result as Wait does.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	_, err := c.Begin(method, params).Wait(ctx, result)
	return err
}

// Deliver gives an answer to whoever waits for it; false when nobody does.
func (c *Conn) Deliver(f Frame) bool {
	c.mu.Lock()
	answer := c.waiting[string(f.ID)]
	delete(c.waiting, string(f.ID))
	c.mu.Unlock()
	if answer == nil {
		return false
	}
	answer <- f
	return true
}
