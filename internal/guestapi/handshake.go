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

// HandshakeTimeout bounds the Hello, and the sending of the Welcome. Between
// them a guest waits: its machine may not have a session yet.
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

// bounded runs a part of the handshake under HandshakeTimeout and ctx, and leaves
// the connection without a deadline when it succeeds.
func bounded(ctx context.Context, conn net.Conn, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, HandshakeTimeout)
	defer cancel()
	return interruptible(ctx, conn, f)
}

// interruptible runs f, which uses conn, until ctx is over.
func interruptible(ctx context.Context, conn net.Conn, f func() error) error {
	// An expired deadline is how a blocked read learns that ctx is over.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// receiveHello reads a guest's hello and decides on it; version is the one that
// both sides speak.
func receiveHello(ctx context.Context, conn net.Conn, secret string) (c *bufferedConn, hello Hello, version int, err error) {
	c = buffered(conn)
	err = bounded(ctx, conn, func() error {
		line, err := c.readLine()
		if err != nil {
			return fmt.Errorf("read hello: %w", err)
		}
		if hello, err = parseHello(line); err != nil {
			return fmt.Errorf("read hello: %w", err)
		}
		answer := answerTo(hello, secret)
		version = answer.Version
		return refuse(c, answer)
	})
	hello.Secret = "" // it has done its work
	return c, hello, version, err
}

// refuse tells a guest why it is refused, where the welcome says so.
func refuse(c *bufferedConn, welcome Welcome) error {
	if welcome.Error == "" {
		return nil
	}
	_ = c.writeLine(welcome) // a courtesy; the caller closes the connection
	return fmt.Errorf("%w: %s", ErrRefused, welcome.Error)
}

// answerTo decides on a hello. The secret comes first: an impostor learns
// nothing, not even which versions are spoken.
func answerTo(hello Hello, secret string) Welcome {
	if secret == "" || subtle.ConstantTimeCompare([]byte(hello.Secret), []byte(secret)) != 1 {
		return Welcome{Error: "wrong secret"}
	}
	version, ok := agree(hello.Oldest, hello.Version)
	if !ok {
		return Welcome{Version: Version, Error: fmt.Sprintf(
			"the guest speaks protocol versions %d to %d, this host %d to %d", hello.Oldest, hello.Version, OldestVersion, Version)}
	}
	return Welcome{Version: version}
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

// sayHello says hello and waits for the welcome, for as long as the host keeps
// the connection: a dead host's is closed.
func sayHello(ctx context.Context, conn net.Conn, hello Hello) (c *bufferedConn, welcome Welcome, err error) {
	c = buffered(conn)
	if err := bounded(ctx, conn, func() error { return c.writeLine(hello) }); err != nil {
		return c, welcome, fmt.Errorf("write hello: %w", err)
	}
	err = interruptible(ctx, conn, func() error {
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
