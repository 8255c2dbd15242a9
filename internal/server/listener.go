package server

import (
	"bytes"
	"crypto/rand"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"paddock/internal/fault"
)

// What net/http cannot read as a request it answers by itself, in plain text and
// without an id, past every handler. Listen turns these answers into ones
// like all others: whatever is written to a connection before
// a handler has begun is net/http's own.

// Listen wraps the listener that a server of HTTP is given.
func Listen(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept gives the next connection.
func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn}, nil
}

// connection knows whether a handler answers on it.
type connection struct {
	net.Conn

	mu       sync.Mutex // guards handling
	handling bool
}

func (c *connection) set(handling bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handling = handling
}

// Write passes an answer on, or says net/http's own in our words.
func (c *connection) Write(b []byte) (int, error) {
	c.mu.Lock()
	handling := c.handling
	c.mu.Unlock()
	if handling || !bytes.HasPrefix(b, []byte("HTTP/1.")) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(ownWords(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite lets net/http end an answer gently.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// ownWords is a refusal of net/http's as we say it.
func ownWords(answer []byte) []byte {
	line, _, _ := strings.Cut(string(answer), "\r\n")
	status, err := strconv.Atoi(strings.SplitN(line+"  ", " ", 3)[1])
	if err != nil || status < 400 {
		return answer
	}
	refusal := fault.New(fault.BadRequest, "the request is not well-formed HTTP/1.1 (%s)", http.StatusText(status))
	if status == http.StatusRequestHeaderFieldsTooLarge {
		refusal = fault.New(fault.TooLarge, "the request line and header fields are larger than %d KiB; send less", maxHeader>>10)
	}
	w := &page{header: http.Header{requestIDHeader: {newRequestID()}, "Connection": {"close"}}}
	writeError(w, status, refusal)
	return w.text()
}

// newRequestID names a call that its caller has not named.
func newRequestID() string { return "req_" + strings.ToLower(rand.Text()) }

// page is an answer that is written without a server.
type page struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header gives the header fields.
func (p *page) Header() http.Header { return p.header }

// WriteHeader notes the status.
func (p *page) WriteHeader(status int) { p.status = status }

// Write adds to the body.
func (p *page) Write(b []byte) (int, error) { return p.body.Write(b) }

// text is the answer as it goes over the wire.
func (p *page) text() []byte {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + strconv.Itoa(p.status) + " " + http.StatusText(p.status) + "\r\n")
	_ = p.header.Write(&b)
	b.WriteString("\r\n")
	b.Write(p.body.Bytes())
	return b.Bytes()
}
