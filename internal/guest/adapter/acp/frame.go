package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// frame is one JSON-RPC message: a request (ID and Method), a notification
// (Method) or a response (ID, and Result or Error).
type frame struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`

	raw []byte // the line it came in
}

// hasID says whether the frame wants, or is, an answer.
func (f frame) hasID() bool { return len(f.ID) > 0 && !bytes.Equal(f.ID, []byte("null")) }

// rpcError is the error of a response.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string {
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
	Error   *rpcError       `json:"error,omitempty"`
}

func (o outgoing) line() []byte {
	o.JSONRPC = "2.0"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		panic("acp: encode " + o.Method + ": " + err.Error()) // our own types always encode
	}
	return b.Bytes()
}

// parse reads a line of the agent. The error says that it is no JSON-RPC
// message; the frame then keeps the line all the same.
func parse(line []byte) (frame, error) {
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		return frame{raw: line}, err
	}
	f.raw = line
	return f, nil
}
