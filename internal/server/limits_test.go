package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/engine"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// soon bounds what the tests wait for; the limits they wait out are shorter.
const soon = 20 * time.Second

// short is a limit for tests that wait it out.
const short = 400 * time.Millisecond

// wire serves an edge with one limit on every wait, for tests that write bytes.
func wire(t *testing.T, s surface, limit time.Duration) string {
	t.Helper()
	server := HTTP(newHandler(s, Options{BodyTimeout: limit, AnswerTimeout: limit}))
	server.ReadHeaderTimeout, server.ReadTimeout, server.IdleTimeout = limit, limit, limit
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(Listen(listener)) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(soon))
	return conn.(*net.TCPConn)
}

// send writes a text and reads until the server closes; it fails when the server
// does not.
func send(t *testing.T, addr, text string) string {
	t.Helper()
	conn := dial(t, addr)
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server still holds the connection of %.60q", text)
	}
	return string(answer)
}

const (
	goodHeader = "Host: x\r\nAuthorization: Bearer " + goodToken + "\r\nContent-Type: application/json\r\n"
	input      = "POST /v2/agents/sessions/x/input HTTP/1.1\r\n" + goodHeader
)

// Slow and silent clients are cut off in bounded time, whatever they began, and
// hold up nobody.
func TestSlowClientsAreCutOff(t *testing.T) {
	addr := wire(t, newStage(), short)
	var slow sync.WaitGroup
	defer slow.Wait()
	for _, begun := range []string{
		"",                              // nothing
		"GET /v2/agents/sess",           // a part of the first line
		"GET / HTTP/1.1\r\nHost: x\r\n", // no end of the header
		input + "Content-Length: 100\r\n\r\n{",
		input + "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
		input + "Transfer-Encoding: chunked\r\n\r\n",
		// Bodies that no handler reads.
		"POST /v2/agents/nope HTTP/1.1\r\n" + goodHeader + "Content-Length: 200000\r\n\r\n",
		"POST /v2/agents/sessions/x/input HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n",
		"GET /v2/agents/sessions HTTP/1.1\r\n" + goodHeader + "Content-Length: 1000\r\n\r\n",
		"POST /v2/agents/configs HTTP/1.1\r\n" + goodHeader + "Transfer-Encoding: chunked\r\n\r\n",
		// A call that is answered, and then nothing.
		"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		for range 10 {
			slow.Go(func() { send(t, addr, begun) })
		}
	}
	for range 20 {
		if got := send(t, addr, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Errorf("beside slow clients: %s", got)
		}
	}
}

func TestSlowBodyIsRefusedInWords(t *testing.T) {
	got := send(t, wire(t, newStage(), short), input+"Content-Length: 100\r\n\r\n{")
	if !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, "did not come in time") {
		t.Errorf("the answer is %s", got)
	}
}

// long plays an engine whose files have long lists.
type long struct{ *stage }

func (long) ListFiles(context.Context, id.Team, string, string) ([]guestapi.File, error) {
	return make([]guestapi.File, 200_000), nil
}

// A reader that does not read a large answer is cut off.
func TestMuteReaderIsCutOff(t *testing.T) {
	addr := wire(t, long{newStage()}, short)
	conn := dial(t, addr)
	_ = conn.SetReadBuffer(4096)
	if _, err := io.WriteString(conn, "GET /v2/agents/sessions/x/files HTTP/1.1\r\n"+goodHeader+"\r\n"); err != nil {
		t.Fatal(err)
	}
	// That it was cut shows in writing: its end answers with a reset.
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < soon {
		<-tick.C
		if _, err := conn.Write([]byte("x")); err != nil {
			return
		}
	}
	t.Error("a reader who reads nothing is still waited for")
}

// A call may take longer than a body may.
func TestLongCallsAreNotCutOff(t *testing.T) {
	addr := wire(t, patient{newStage()}, short)
	body := `{"argv":["sleep"]}`
	got := send(t, addr, "POST /v2/agents/sessions/x/sandbox/exec HTTP/1.1\r\n"+goodHeader+
		fmt.Sprintf("Connection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	if !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("the answer is %s", got)
	}
}

// patient plays an engine whose execs take longer than the limits of wire.
type patient struct{ *stage }

func (p patient) Exec(ctx context.Context, _ id.Team, _ string, _ engine.ExecRequest) (engine.ExecResult, error) {
	select {
	case <-time.After(3 * short):
		return p.result, nil
	case <-ctx.Done():
		return engine.ExecResult{}, ctx.Err()
	}
}

// On the wire as other clients write it.
func TestRequestsByHand(t *testing.T) {
	addr := wire(t, newStage(), 2*time.Second)
	for _, c := range []struct{ name, request, begins, has string }{
		{"HTTP/1.0", "GET /v2/agents/sessions HTTP/1.0\r\n" + goodHeader + "\r\n", "HTTP/1.0 200 OK", "X-Request-Id: req_"},
		{"another host in the line", "GET http://evil/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200", `"ok"`},
		{"options of all", "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404", "X-Request-Id: req_"},
		{"connect", "CONNECT evil:80 HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404", "X-Request-Id: req_"},
		{"a large header", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("x", maxHeader) + "\r\n\r\n", "HTTP/1.1 431", "X-Request-Id: req_"},
		{"a long line", "GET /healthz?a=" + strings.Repeat("x", maxHeader) + " HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 431", "larger than 64 KiB"},
		{"a huge header", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("x", 5*maxHeader) + "\r\n\r\n", "HTTP/1.1 431", ""},
		{"two lengths", input + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", "HTTP/1.1 400", ""},
		{"a negative length", input + "Content-Length: -5\r\n\r\n", "HTTP/1.1 400", ""},
		{"a length with a sign", input + "Content-Length: +5\r\n\r\nhello", "HTTP/1.1 400", ""},
		{"an unknown coding", input + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 501", ""},
		{"two codings", input + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", "HTTP/1.1 50", ""},
		{"a space before the colon", "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\n", "HTTP/1.1 400", ""},
		{"a folded header", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c: d\r\nConnection: close\r\n\r\n", "HTTP/1.1 ", ""},
		{"no host", "GET /healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 400", ""},
		{"two hosts", "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "HTTP/1.1 400", ""},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "HTTP/1.1 400", ""},
		{"less than was said", input + "Connection: close\r\nContent-Length: 14\r\n\r\n{\"text\":\"hi\"}", "HTTP/1.1 400", "did not come in time"},
		{"more than was said", input + "Connection: close\r\nContent-Length: 13\r\n\r\n{\"text\":\"hi\"}}", "HTTP/1.1 200", `"run_id"`},
		{"chunks over the limit", "POST /v2/agents/sessions/x/pause HTTP/1.1\r\n" + goodHeader + "Transfer-Encoding: chunked\r\n\r\n100001\r\n" +
			strings.Repeat(" ", maxBody+1) + "\r\n0\r\n\r\n", "HTTP/1.1 413", "larger than 1024 KiB"},
		{"an expectation nobody has", input + "Expect: magic\r\nContent-Length: 13\r\n\r\n", "HTTP/1.1 417", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := send(t, addr, c.request)
			if !strings.HasPrefix(got, c.begins) || !strings.Contains(got, c.has) {
				t.Errorf("the answer is %.700s", got)
			}
			response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil)
			if err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode >= 400 {
				errorOf(t, call{response.StatusCode, response.Header, string(text)})
			}
		})
	}
}

// A body is asked for only when the header was good enough to want it.
func TestExpectContinue(t *testing.T) {
	addr := wire(t, newStage(), soon)
	ask := func(header string) string {
		conn := dial(t, addr)
		if _, err := io.WriteString(conn, header+"Expect: 100-continue\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return strings.TrimSpace(line)
	}
	equal(t, ask(input+"Content-Length: 13\r\n"), "HTTP/1.1 100 Continue")
	equal(t, ask(strings.Replace(input, goodToken, "bad", 1)+"Content-Length: 13\r\n"), "HTTP/1.1 401 Unauthorized")
	equal(t, ask(input+"Content-Length: 99999999\r\n"), "HTTP/1.1 413 Request Entity Too Large")
	equal(t, ask(input+"Content-Encoding: gzip\r\nContent-Length: 13\r\n"), "HTTP/1.1 415 Unsupported Media Type")
}

// Each of the requests that came at once gets its answer, in order; what a
// request hides in its body is none.
func TestPipelinesAndSmuggling(t *testing.T) {
	addr := wire(t, newStage(), soon)
	answers := func(text string) (statuses []int) {
		reader := bufio.NewReader(strings.NewReader(send(t, addr, text)))
		for {
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				return statuses
			}
			_, _ = io.Copy(io.Discard, response.Body)
			statuses = append(statuses, response.StatusCode)
			if response.Header.Get("X-Request-Id") == "" {
				t.Errorf("an answer %d without an id", response.StatusCode)
			}
		}
	}
	health, last := "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "GET /nope HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	equal(t, answers(health+"GET /v2/agents/sessions HTTP/1.1\r\n"+goodHeader+"\r\n"+health+last), []int{200, 200, 200, 404})
	equal(t, answers(health+health+"FOO\r\n\r\n"), []int{200, 200, 400})
	hidden := "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n"
	equal(t, answers(input+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hidden))+hidden+last), []int{400, 404})
	// Both framings: the chunks count (RFC 9112, 6.3), and what follows them is
	// the next request.
	equal(t, answers(input+"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n{\"text\":\"hi\"}\r\n0\r\n\r\n"+last), []int{200, 404})
}

func TestManyConnections(t *testing.T) {
	addr := wire(t, newStage(), soon)
	for range 300 {
		dial(t, addr)
	}
	if got := send(t, addr, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("beside idle connections: %s", got)
	}
}
