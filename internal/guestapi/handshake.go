package guestapi

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
	"unicode/utf8"
)

// HandshakeTimeout bounds Hello and Welcome together.
const HandshakeTimeout = 5 * time.Second

// ErrRefused reports a handshake that one side refused: a wrong secret, a
// version outside the window, or the Error of a Welcome.
var ErrRefused = errors.New("connection refused")

var errMalformed = errors.New("malformed line")

// bufferedConn is a connection of which some bytes were already read.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *bufferedConn) Read(b []byte) (int, error) { return c.r.Read(b) }

func buffered(conn net.Conn) *bufferedConn {
	return &bufferedConn{conn, bufio.NewReaderSize(conn, MaxLine)}
}

// readLine reads one line of at most MaxLine bytes, the newline included.
func (c *bufferedConn) readLine() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("%w: longer than %d bytes", errMalformed, MaxLine)
	}
	return line, err
}

func (c *bufferedConn) writeLine(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) >= MaxLine {
		return fmt.Errorf("%w: longer than %d bytes", errMalformed, MaxLine)
	}
	_, err = c.Write(append(b, '\n'))
	return err
}

// bounded runs the handshake f under HandshakeTimeout and ctx, and leaves the
// connection without a deadline when it succeeds.
func bounded(ctx context.Context, conn net.Conn, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, HandshakeTimeout)
	defer cancel()
	// An expired deadline is how a blocked read learns that ctx is over.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

func acceptHello(ctx context.Context, conn net.Conn, secret string, greet func(Hello) Welcome) (c *bufferedConn, hello Hello, welcome Welcome, err error) {
	c = buffered(conn)
	err = bounded(ctx, conn, func() error {
		line, err := c.readLine()
		if err != nil {
			return fmt.Errorf("read hello: %w", err)
		}
		if hello, err = parseHello(line); err != nil {
			return fmt.Errorf("read hello: %w", err)
		}
		if welcome = answerTo(hello, secret, greet); welcome.Error != "" {
			_ = c.writeLine(welcome) // a courtesy; the caller closes the connection
			return fmt.Errorf("%w: %s", ErrRefused, welcome.Error)
		}
		if err := c.writeLine(welcome); err != nil {
			return fmt.Errorf("write welcome: %w", err)
		}
		return nil
	})
	hello.Secret = "" // it has done its work
	return c, hello, welcome, err
}

// answerTo decides on a hello. The secret comes first: an impostor learns
// nothing, not even which versions are spoken.
func answerTo(hello Hello, secret string, greet func(Hello) Welcome) Welcome {
	if secret == "" || subtle.ConstantTimeCompare([]byte(hello.Secret), []byte(secret)) != 1 {
		return Welcome{Error: "wrong secret"}
	}
	version, ok := agree(hello.Oldest, hello.Version)
	if !ok {
		return Welcome{Version: Version, Error: fmt.Sprintf(
			"the guest speaks protocol versions %d to %d, this host %d to %d", hello.Oldest, hello.Version, OldestVersion, Version)}
	}
	hello.Secret = ""
	w := greet(hello)
	w.Version = version
	return w
}

// agree picks the newest version that both sides speak.
func agree(oldest, newest int) (version int, ok bool) {
	version = min(newest, Version)
	return version, version >= max(oldest, OldestVersion)
}

// parseHello reads and checks a guest's first line, which is untrusted.
func parseHello(line []byte) (Hello, error) {
	var h Hello
	switch {
	case len(line) > MaxLine:
		return Hello{}, fmt.Errorf("%w: longer than %d bytes", errMalformed, MaxLine)
	case !utf8.Valid(line):
		return Hello{}, fmt.Errorf("%w: not UTF-8", errMalformed)
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return Hello{}, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if h.Version < 1 || h.Oldest < 1 || h.Oldest > h.Version {
		return Hello{}, fmt.Errorf("%w: versions %d to %d", errMalformed, h.Oldest, h.Version)
	}
	if h.Epoch < 0 {
		return Hello{}, fmt.Errorf("%w: epoch %d", errMalformed, h.Epoch)
	}
	if len(h.Build) > 256 || len(h.Secret) > 256 {
		return Hello{}, fmt.Errorf("%w: a field is longer than 256 bytes", errMalformed)
	}
	return h, nil
}

func sayHello(ctx context.Context, conn net.Conn, hello Hello) (c *bufferedConn, welcome Welcome, err error) {
	c = buffered(conn)
	err = bounded(ctx, conn, func() error {
		if err := c.writeLine(hello); err != nil {
			return fmt.Errorf("write hello: %w", err)
		}
		line, err := c.readLine()
		if err != nil {
			return fmt.Errorf("read welcome: %w", err)
		}
		if err := json.Unmarshal(line, &welcome); err != nil {
			return fmt.Errorf("read welcome: %w: %w", errMalformed, err)
		}
		if welcome.Error != "" {
			return fmt.Errorf("%w: %s", ErrRefused, welcome.Error)
		}
		if welcome.Version < hello.Oldest || welcome.Version > hello.Version {
			return fmt.Errorf("%w: the host chose version %d", ErrRefused, welcome.Version)
		}
		return nil
	})
	return c, welcome, err
}
