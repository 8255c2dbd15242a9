package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"paddock/internal/guest/adapter/program"
)

// conn is the JSON-RPC side of a running agent: calls and their answers.
type conn struct {
	*program.Program

	mu      sync.Mutex
	next    int64
	waiting map[string]chan frame
}

func newConn() *conn { return &conn{Program: program.New(), waiting: map[string]chan frame{}} }

// send puts a message into the queue.
func (c *conn) send(o outgoing) { c.Send(o.line()) }

// pending is a call whose answer has not come.
type pending struct {
	conn   *conn
	id     string
	answer chan frame
}

// begin sends a request. The caller waits for the answer, in any goroutine.
func (c *conn) begin(method string, params any) pending {
	c.mu.Lock()
	c.next++
	id := strconv.FormatInt(c.next, 10)
	p := pending{c, id, make(chan frame, 1)}
	c.waiting[id] = p.answer
	c.mu.Unlock()
	c.send(outgoing{ID: json.RawMessage(id), Method: method, Params: params})
	return p
}

// wait gives the result of the call: into result, or as an error that is an
// *rpcError where the agent said no.
func (p pending) wait(ctx context.Context, result any) (frame, error) {
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
			return frame{}, p.conn.Err()
		}
	case <-ctx.Done():
		p.conn.mu.Lock()
		delete(p.conn.waiting, p.id)
		p.conn.mu.Unlock()
		return frame{}, context.Cause(ctx)
	}
}

func (f frame) into(result any) error {
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

func (c *conn) call(ctx context.Context, method string, params, result any) error {
	_, err := c.begin(method, params).wait(ctx, result)
	return err
}

// deliver gives an answer to whoever waits for it; false when nobody does.
func (c *conn) deliver(f frame) bool {
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
