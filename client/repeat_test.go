package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"paddock/client"
)

// flaky serves two answers too short to be whole, each in its way, and then the
// given one; it notes keys and bodies.
func flaky(t *testing.T, status int, body string) (*client.Client, func() []string) {
	t.Helper()
	var calls atomic.Int32
	seen := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		seen <- r.Header.Get("Idempotency-Key") + " " + string(text)
		switch calls.Add(1) {
		case 1:
			panic(http.ErrAbortHandler) // before the answer
		case 2:
			w.Header().Set("Content-Length", "1000") // in its middle
			_, _ = io.WriteString(w, "{")
		default:
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}))
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	c, err := client.New(server.URL, "secret", client.Options{HTTP: &http.Client{Transport: transport}, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return c, func() (all []string) {
		for len(seen) > 0 {
			all = append(all, <-seen)
		}
		return all
	}
}

func TestLostAnswersAreAskedForAgain(t *testing.T) {
	c, asked := flaky(t, 200, `{"run_id":"run_1"}`)
	run, err := c.Input(context.Background(), "x", "hi")
	if err != nil || run != "run_1" {
		t.Fatalf("%q %v", run, err)
	}
	calls := asked()
	if len(calls) != 3 || len(calls[0]) < 20 || calls[1] != calls[0] || calls[2] != calls[0] {
		t.Errorf("the server was asked %q", calls)
	}
	if _, err := c.Input(context.Background(), "x", "hi"); err != nil {
		t.Fatal(err)
	}
	if next := asked(); len(next) != 1 || next[0] == calls[0] {
		t.Errorf("another input had the same name: %q", next)
	}
}

func TestRefusalsAreNotAskedForAgain(t *testing.T) {
	c, asked := flaky(t, 409, `{"id":"conflict","message":"no"}`)
	if _, err := c.CreateSession(context.Background(), nil, client.CreateOptions{}); !client.IsCode(err, "conflict") {
		t.Errorf("the error is %v", err)
	}
	if calls := asked(); len(calls) != 3 {
		t.Errorf("the server was asked %q", calls)
	}
}

// A command is not repeated: it has no name, so that it ends with its caller.
func TestExecIsNotRepeated(t *testing.T) {
	c, asked := flaky(t, 200, `{}`)
	if _, err := c.Exec(context.Background(), "x", client.ExecRequest{Argv: []string{"a"}}); err == nil {
		t.Error("no error")
	}
	if calls := asked(); len(calls) != 1 || calls[0][0] != ' ' {
		t.Errorf("the server was asked %q", calls)
	}
}

func TestAServerThatIsNotThereIsSaidAtOnce(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	c, err := client.New(gone.URL, "secret", client.Options{Backoff: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := c.Input(ctx, "x", "hi"); err == nil || ctx.Err() != nil {
		t.Errorf("the error is %v", err)
	}
}
