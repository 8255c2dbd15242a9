package e2e

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"paddock/internal/fakemodel"
)

// modelServer is the scripted model on the far host: it keeps what it was asked,
// and soon closes connections that stand idle.
type modelServer struct {
	mu     sync.Mutex
	asked  []modelCall
	open   map[net.Conn]bool
	opened int // connections so far
}

// modelCall is a request to the model.
type modelCall struct {
	Path string
	Key  string // that it came with
	Body string
}

// modelIdle is how long a connection may stand idle.
const modelIdle = 300 * time.Millisecond

// serveModel opens the model's server; it is called in the far host's thread.
func (f *far) serveModel() error {
	l, err := f.listen(8901)
	if err != nil {
		return err
	}
	h := &http.Server{Handler: f.model.keeping(fakemodel.Handler()), IdleTimeout: modelIdle, ConnState: f.model.noted}
	f.t.Cleanup(func() { _ = h.Close() })
	go func() { _ = h.Serve(l) }()
	return nil
}

// modelURL is where agents reach the model.
func (f *far) modelURL() string { return "http://far.test:8901" }

func (m *modelServer) keeping(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		key := r.Header.Get("X-Api-Key")
		if key == "" {
			key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		}
		m.mu.Lock()
		m.asked = append(m.asked, modelCall{r.URL.Path, key, string(b)})
		m.mu.Unlock()
		h.ServeHTTP(w, r)
	})
}

func (m *modelServer) noted(c net.Conn, state http.ConnState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		m.open = map[net.Conn]bool{}
	}
	switch state {
	case http.StateNew:
		m.opened++
		m.open[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(m.open, c)
	}
}

// connections are those that are open, and all so far.
func (m *modelServer) connections() (open, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.open), m.opened
}

// heard counts the requests that have all the parts, as JSON writes them.
func (m *modelServer) heard(parts ...string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
next:
	for _, c := range m.asked {
		for _, part := range parts {
			if !strings.Contains(c.Body, part) {
				continue next
			}
		}
		n++
	}
	return n
}

// last is the newest request.
func (m *modelServer) last() modelCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) == 0 {
		return modelCall{}
	}
	return m.asked[len(m.asked)-1]
}
