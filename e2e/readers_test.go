package e2e

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// reader follows a session and reports the id of each event that it is given,
// as soon as it is given.
type reader struct {
	name string
	seen chan string
}

func newReader(name string) *reader { return &reader{name, make(chan string, 1000)} }

// lines reports the ids in the lines of a stream.
func (r *reader) lines(stream io.Reader) {
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			r.seen <- id
		}
	}
}

// TestEachEventAtOnce writes one event after the other, the next only when every
// reader has got the one before: through nginx that buffers and packs what it
// can, with curl, in a browser, and with the public client. The browser's
// connection is cut once on the way.
func TestEachEventAtOnce(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: none\n").SessionID
	front := s.nginx()
	readers := []*reader{s.godoReader(id), s.curlReader(id), s.gzipReader(front, id)}
	browser, page := s.browserReader(id)
	readers = append(readers, browser)

	var got []string
	step := func(write func(context.Context, string) (*godo.Response, error)) {
		t.Helper()
		if _, err := write(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		history := s.history(id)
		for _, e := range history[len(got):] {
			for _, r := range readers {
				r.expect(t, e.EventID)
			}
			got = append(got, e.EventID)
		}
	}
	nothing := func(context.Context, string) (*godo.Response, error) { return nil, nil }
	step(nothing) // what is there already
	for i := range 3 {
		step(s.client().HostedAgents.PauseSession)
		if i == 1 {
			page.cut()
		}
		step(s.client().HostedAgents.ResumeSession)
	}
	if resumed := page.resumed(); len(resumed) != 1 || resumed[0] == "" {
		t.Errorf("the browser came back with Last-Event-ID %q", resumed)
	}
}

func (r *reader) expect(t *testing.T, id string) {
	t.Helper()
	select {
	case got := <-r.seen:
		if got != id {
			t.Fatalf("%s got %s, want %s", r.name, got, id)
		}
	case <-time.After(patience):
		t.Fatalf("%s has not got %s after %s", r.name, id, patience)
	}
}

// needs skips the test where a program is not installed, and fails it where
// PADDOCK_REQUIRE names the program.
func needs(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if strings.Contains(os.Getenv("PADDOCK_REQUIRE"), program) {
		t.Fatalf("PADDOCK_REQUIRE names %s, which is not installed", program)
	}
	t.Skipf("%s is not installed; make readers installs it", program)
	return ""
}

func (s *server) godoReader(id string) *reader {
	s.t.Helper()
	r := newReader("godo")
	stream, _, err := s.client().HostedAgents.StreamSession(context.Background(), id, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = stream.Close() })
	go func() {
		for stream.Next() {
			if e := stream.Current(); e.Kind != godo.HostedAgentEventKindStreamState {
				r.seen <- e.EventID
			}
		}
	}()
	return r
}

func (s *server) curlReader(id string) *reader {
	s.t.Helper()
	r := newReader("curl -N")
	cmd := exec.Command(needs(s.t, "curl"), "-sN", "-H", "Authorization: Bearer "+token, fmt.Sprintf("http://%s/v2/agents/sessions/%s/events", s.addr, id))
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.beside(cmd)
	go r.lines(out)
	return r
}

// beside starts a program that ends, with its children, with the test.
func (s *server) beside(cmd *exec.Cmd) {
	s.t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
}

// nginx starts an nginx in front of the server that buffers answers and packs
// them, streams of events included, and gives its address.
func (s *server) nginx() string {
	s.t.Helper()
	program, dir, addr := needs(s.t, "nginx"), s.t.TempDir(), freePort(s.t)
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
	gzip on; gzip_proxied any; gzip_min_length 0; gzip_types text/event-stream application/json;
	server {
		listen %s;
		location / {
			proxy_pass http://%s;
			proxy_buffering on; proxy_buffers 8 64k; proxy_buffer_size 64k;
		}
	}
}
`, addr, s.addr)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(program, "-p", dir, "-c", conf, "-e", "stderr")
	cmd.Stderr = s.log
	s.beside(cmd)
	eventually(s.t, "nginx serves", func() bool {
		resp, err := http.Get("http://" + addr + "/healthz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return addr
}

// gzipReader reads through nginx, and asks it to pack.
func (s *server) gzipReader(front, id string) *reader {
	s.t.Helper()
	r := newReader("a reader behind nginx")
	ctx, cancel := context.WithCancelCause(context.Background())
	s.t.Cleanup(func() { cancel(nil) })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/v2/harness-runtime/sessions/%s/events", front, id), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Accept-Encoding": {"gzip"}}
	late := time.AfterFunc(patience, func() { cancel(errors.New("nginx keeps the beginning to itself")) })
	resp, err := http.DefaultClient.Do(req)
	late.Stop()
	if err != nil {
		s.t.Fatal(err, context.Cause(ctx))
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	if packed := resp.Header.Get("Content-Encoding"); packed != "gzip" {
		s.t.Fatalf("nginx answers %s and packs with %q", resp.Status, packed)
	}
	go func() {
		if text, err := gzip.NewReader(resp.Body); err == nil {
			r.lines(text)
		}
	}()
	return r
}

// page is what a browser is given: a script that follows a session with
// EventSource, and, as EventSource cannot set headers, a proxy on the same site
// that adds the token.
type page struct {
	*httptest.Server
	streams chan context.CancelCauseFunc // of each stream, in order
	cursors chan string                  // Last-Event-ID of each
}

const script = `<!doctype html><script>
const reports = [], types = %q.split(",");
async function send() { while (reports.length) { await fetch("/seen", {method: "POST", body: reports[0]}); reports.shift(); } }
const source = new EventSource("/v2/harness-runtime/sessions/%s/events");
for (const type of types) source.addEventListener(type, e => { if (reports.push(e.lastEventId) == 1) send(); });
</script>`

func (s *server) browserReader(id string) (*reader, *page) {
	s.t.Helper()
	r := newReader("EventSource in Chromium")
	p := &page{streams: make(chan context.CancelCauseFunc, 100), cursors: make(chan string, 100)}
	target := &url.URL{Scheme: "http", Host: s.addr}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, script, "session.updated,run.sandbox_allocated,run.sandbox_released,run.log", id)
	})
	mux.HandleFunc("POST /seen", func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.seen <- string(body)
	})
	mux.HandleFunc("GET /v2/", func(w http.ResponseWriter, req *http.Request) {
		ctx, cut := context.WithCancelCause(req.Context())
		defer cut(nil)
		p.streams <- cut
		p.cursors <- req.Header.Get("Last-Event-ID")
		proxy.ServeHTTP(w, req.WithContext(ctx))
	})
	p.Server = httptest.NewServer(mux)
	s.t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	cmd := exec.Command(needs(s.t, "chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--user-data-dir="+s.t.TempDir(), "--disable-background-networking", p.URL+"/")
	s.beside(cmd)
	return r, p
}

// cut breaks the connection of the browser's stream.
func (p *page) cut() { (<-p.streams)(io.ErrUnexpectedEOF) }

// resumed gives the places after which the browser's later streams began.
func (p *page) resumed() (cursors []string) {
	for len(p.cursors) > 0 {
		cursors = append(cursors, <-p.cursors)
	}
	return cursors[1:]
}
