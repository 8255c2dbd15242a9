package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The error codes of JSON-RPC that we send.
const (
	MethodNotFound = -32601
	InvalidParams  = -32602
)

// Frame is one JSON-RPC message: a request (ID and Method), a notification
// (Method) or a response (ID, and Result or Error).
type Frame struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`

	Raw []byte `json:"-"` // the line it came in
}

// HasID says whether the frame wants, or is, an answer.
func (f Frame) HasID() bool { return len(f.ID) > 0 && !bytes.Equal(f.ID, []byte("null")) }

// Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("error %d without a message", e.Code)
	}
	return e.Message
}

// outgoing is a message to the agent.
type outgoing struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

func (o outgoing) line() []byte {
	o.JSONRPC = "2.0"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		panic("rpc: encode " + o.Method + ": " + err.Error()) // our own types always encode
	}
	return b.Bytes()
}

// Parse reads a line of the agent. The error says that it is no JSON-RPC
// message; the frame then keeps the line all the same.
func Parse(line []byte) (Frame, error) {
	var f Frame
	if err := json.Unmarshal(line, &f); err != nil {
		return Frame{Raw: line}, err
	}
	f.Raw = line
	return f, nil
}
