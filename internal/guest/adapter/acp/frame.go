package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxFrame bounds one line of the agent. It is far above what agents send (whole
// files in a diff); a longer line is skipped and noted.
const maxFrame = 32 << 20

var errFrameTooLong = fmt.Errorf("a line is longer than %d bytes", maxFrame)

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

// frames reads messages from the agent.
type frames struct{ r *bufio.Reader }

func newFrames(r io.Reader) *frames { return &frames{bufio.NewReaderSize(r, 64<<10)} }

// next reads the next line that is not empty. errFrameTooLong and a
// *json.SyntaxError or the like leave the reader usable: the bad line is
// skipped, and given in raw as far as it goes. Other errors end the stream.
func (s *frames) next() (frame, error) {
	for {
		line, err := s.line()
		if err != nil {
			return frame{raw: line}, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			return frame{raw: line}, &malformedError{err}
		}
		f.raw = line
		return f, nil
	}
}

// malformedError is a line that is no JSON-RPC message.
type malformedError struct{ cause error }

func (e *malformedError) Error() string { return e.cause.Error() }

// line reads a whole line into memory of its own.
func (s *frames) line() ([]byte, error) {
	var whole []byte
	for {
		part, err := s.r.ReadSlice('\n')
		if len(whole)+len(part) > maxFrame {
			return whole[:min(len(whole), 4<<10)], s.skip(err)
		}
		whole = append(whole, part...)
		switch {
		case err == nil:
			return whole, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(whole) > 0:
			return whole, nil // a last line without its newline
		default:
			return nil, err
		}
	}
}

// skip reads to the end of a line that is too long.
func (s *frames) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = s.r.ReadSlice('\n')
	}
	if err != nil {
		return err
	}
	return errFrameTooLong
}
