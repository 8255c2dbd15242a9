package broker

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"paddock/internal/sandbox"
)

// echo is a host that says what it was asked, in the way that the path names.
func echo(w http.ResponseWriter, r *http.Request) {
	quote := "auth " + r.Header.Get("Authorization") + " key " + r.Header.Get("X-Key") + " end"
	w.Header().Set("X-Echo", quote)
	if r.Header.Get("Want-Encoding") != "" {
		w.Header().Set("Content-Encoding", r.Header.Get("Want-Encoding"))
	}
	switch r.URL.Path {
	case "/long":
		quote = strings.Repeat(quote+" ", 2000)
		w.Header().Set("Content-Length", fmt.Sprint(len(quote)))
	case "/split": // in the middle of the value
		w.Header().Set("Trailer", "X-Sum")
		for piece := range strings.SplitSeq(quote, "live") {
			_, _ = io.WriteString(w, piece)
			if !strings.HasSuffix(piece, "end") {
				_, _ = io.WriteString(w, "live")
			}
			w.(http.Flusher).Flush()
		}
		w.Header().Set("X-Sum", r.Header.Get("X-Key"))
		return
	case "/gzip":
		w.Header().Set("X-Asked", r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		_, _ = io.WriteString(z, quote)
		return
	case "/location":
		w.Header().Set("Location", "/next?key="+r.Header.Get("X-Key"))
		w.Header().Set("Alt-Svc", `h3=":443"`)
		w.WriteHeader(http.StatusFound)
	case "/early":
		w.Header().Set("Link", "<"+r.Header.Get("X-Key")+">")
		w.WriteHeader(http.StatusEarlyHints)
	}
	_, _ = io.WriteString(w, quote)
}

// TestEcho: a host that quotes the value quotes the placeholder.
func TestEcho(t *testing.T) {
	eachWay(t, echo, func(t *testing.T, s *bench, c *http.Client) {
		auth := basic("user:" + placeholder)
		want := "auth " + auth + " key " + placeholder + " end"
		for _, path := range []string{"/", "/long", "/split", "/gzip", "/location", "/early"} {
			r, body := s.get(c, path, "Authorization", auth, "X-Key", placeholder, "Accept-Encoding", "br, gzip;q=0.5")
			whole := want
			if path == "/long" {
				whole = strings.Repeat(want+" ", 2000)
			}
			if len(body) > 1000 && body != whole {
				at := 0
				for at < min(len(body), len(whole)) && body[at] == whole[at] {
					at++
				}
				t.Fatalf("%s: %d bytes, not %d; from %d on %.100q", path, len(body), len(whole), at, body[at:])
			}
			if body != whole || r.Header.Get("X-Echo") != want {
				t.Errorf("%s: %q, head %q", path, body, r.Header.Get("X-Echo"))
			}
			if text := fmt.Sprint(r.Header, r.Trailer); strings.Contains(text, "sk-live") || r.Header.Get("Alt-Svc") != "" {
				t.Errorf("%s: %s", path, text)
			}
			if r.ContentLength >= 0 && r.ContentLength != int64(len(body)) {
				t.Errorf("%s: its length is said to be %d, it is %d", path, r.ContentLength, len(body))
			}
			switch {
			case path == "/split" && r.Trailer.Get("X-Sum") != placeholder:
				t.Errorf("the trailer is %v", r.Trailer)
			case path == "/gzip" && (r.Header.Get("Content-Encoding") != "" || r.Header.Get("X-Asked") != "gzip"):
				t.Errorf("gzip: %v", r.Header)
			case path == "/location" && (r.StatusCode != http.StatusFound || r.Header.Get("Location") != "/next?key="+placeholder):
				t.Errorf("%s %v", r.Status, r.Header)
			}
		}
		r, body := s.get(c, "/", "Want-Encoding", "br", "X-Key", placeholder)
		if r.StatusCode != http.StatusBadGateway || !strings.Contains(body, "compressed") || strings.Contains(body, "sk-live") {
			t.Errorf("in a compression of which we know nothing: %s %q", r.Status, body)
		}
	})
}

// TestSameLength: where placeholder and value have one length, answers keep theirs.
func TestSameLength(t *testing.T) {
	one := sandbox.Brokered{Name: "K", Host: host, Placeholder: "paddock-xxxxxxxxx", Value: "sk-live-yyyyyyyyy"}
	s := newBench(t, benchOptions{secrets: []sandbox.Brokered{one}}, echo)
	r, body := s.get(s.client(false), "/long", "X-Key", one.Placeholder)
	if want := strings.Repeat("auth  key "+one.Placeholder+" end ", 2000); body != want || r.ContentLength != int64(len(want)) {
		t.Errorf("of %d bytes %d came, said to be %d", len(want), len(body), r.ContentLength)
	}
}

// TestHead: nothing is made up, and the length that a HEAD tells stays.
func TestHead(t *testing.T) {
	eachWay(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Date"], h["Content-Type"] = nil, nil
		h.Set("Content-Length", "12345678")
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotModified)
		}
	}, func(t *testing.T, s *bench, c *http.Client) {
		r, err := http.NewRequest(http.MethodHead, s.url("/"), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := s.do(c, r)
		if text := fmt.Sprint(answer.Header); answer.StatusCode != 200 || text != "map[Content-Length:[12345678]]" {
			t.Errorf("%s %s", answer.Status, text)
		}
		if answer, err = c.Get(s.url("/")); err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNotModified {
			t.Errorf("%s", answer.Status)
		}
	})
}

// TestEvents: each event of a stream arrives when it was sent, in gzip too.
func TestEvents(t *testing.T) {
	seen := make(chan bool)
	eachWay(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		var out io.Writer = w
		flush := func() { w.(http.Flusher).Flush() }
		if r.URL.Path == "/gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			out, flush = z, func() { _ = z.Flush(); w.(http.Flusher).Flush() }
		}
		for n := range 3 {
			fmt.Fprintf(out, "data: %d %s\n\n", n, r.Header.Get("X-Key"))
			flush()
			select {
			case <-seen:
			case <-r.Context().Done():
				return
			}
		}
	}, func(t *testing.T, s *bench, c *http.Client) {
		for _, path := range []string{"/", "/gzip"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(path), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Key", placeholder)
			r.Header.Set("Accept-Encoding", "gzip")
			answer, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(answer.Body)
			for n := range 3 {
				line, err := lines.ReadString('\n')
				if want := fmt.Sprintf("data: %d %s\n", n, placeholder); err != nil || line != want {
					t.Fatalf("%q, %v; want %q", line, err, want)
				}
				_, _ = lines.ReadString('\n')
				seen <- true
			}
			_ = answer.Body.Close()
		}
	})
}

// TestCancel: a client that goes away ends the request to the host.
func TestCancel(t *testing.T) {
	ended := make(chan bool, 1)
	eachWay(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		ended <- true
	}, func(t *testing.T, s *bench, c *http.Client) {
		answer, err := c.Get(s.url("/"))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		c.CloseIdleConnections()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("the host is still asked")
		}
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestLarge: long bodies pass both ways, chunked or with a length, in bounded memory.
func TestLarge(t *testing.T) {
	const size = 128 << 20
	var most atomic.Uint64
	eachWay(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Length", fmt.Sprint(size))
			_, _ = io.CopyN(w, zeros{}, size)
			return
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r.Body, make([]byte, 1<<20))
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most.Store(max(most.Load(), m.HeapInuse))
		fmt.Fprintf(w, "%d %v %d %s", n, err, r.ContentLength, r.Trailer.Get("X-Sum"))
	}, func(t *testing.T, s *bench, c *http.Client) {
		for _, length := range []int64{size, -1} {
			r, err := http.NewRequest(http.MethodPut, s.url("/"), io.LimitReader(zeros{}, size))
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("%d <nil> %d ", size, length)
			if r.ContentLength = length; length < 0 {
				r.Trailer = http.Header{"X-Sum": {"the sum"}}
				want += "the sum"
			}
			if _, body := s.do(c, r); body != want {
				t.Errorf("%q, want %q", body, want)
			}
		}
		answer, err := c.Get(s.url("/"))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if n, err := io.Copy(io.Discard, answer.Body); err != nil || n != size {
			t.Errorf("%d bytes came: %v", n, err)
		}
	})
	if most.Load() > size*3/4 {
		t.Errorf("%d MiB were held", most.Load()>>20)
	}
}

// TestContinue: a host that is asked whether it wants the body is asked, and its
// refusal arrives.
func TestContinue(t *testing.T) {
	eachWay(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			http.Error(w, "too large", http.StatusExpectationFailed)
			return
		}
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	}, func(t *testing.T, s *bench, c *http.Client) {
		for path, want := range map[string]string{"/yes": "1000", "/no": "too large\n"} {
			read := &counted{from: bytes.NewReader(make([]byte, 1000))}
			r, err := http.NewRequest(http.MethodPut, s.url(path), read)
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = 1000
			r.Header.Set("Expect", "100-continue")
			if _, body := s.do(c, r); body != want {
				t.Errorf("%s: %q", path, body)
			}
			if path == "/no" && r.ProtoMajor == 1 && !s.server.EnableHTTP2 && read.n.Load() > 0 {
				t.Errorf("%d bytes were sent that the host did not want", read.n.Load())
			}
		}
	})
}

type counted struct {
	from io.Reader
	n    atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// TestWebSocket: after the upgrade everything passes as it is.
func TestWebSocket(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+value {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, b, err := c.Read(r.Context())
			if err != nil {
				return
			}
			if err := c.Write(r.Context(), kind, append([]byte("echo "), b...)); err != nil {
				return
			}
		}
	}
	for _, way := range ways[:2] {
		s := newBench(t, benchOptions{plain: way.plain}, handler)
		c, _, err := websocket.Dial(t.Context(), strings.Replace(s.url("/ws"), "http", "ws", 1), &websocket.DialOptions{
			HTTPClient: s.client(false), HTTPHeader: http.Header{"Authorization": {"Bearer " + placeholder}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"hello", placeholder, strings.Repeat("long", 5000)} {
			if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if _, got, err := c.Read(t.Context()); err != nil || string(got) != "echo "+text {
				t.Errorf("%.40q, %v", got, err)
			}
		}
		if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
	}
}

// TestStreamsBothWays: as gRPC has it, messages go both ways at once, and the end
// is told in trailers.
func TestStreamsBothWays(t *testing.T) {
	s := newBench(t, benchOptions{http2: true}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		w.(http.Flusher).Flush()
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			fmt.Fprintf(w, "%s %s\n", lines.Text(), r.Header.Get("X-Key"))
			w.(http.Flusher).Flush()
		}
		w.Header().Set("Grpc-Status", "0")
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", "said "+base64.StdEncoding.EncodeToString([]byte(r.Header.Get("X-Key"))))
	})
	from, to := io.Pipe()
	r, err := http.NewRequest(http.MethodPost, s.url("/service/Method"), from)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Key", placeholder)
	r.Header.Set("Te", "trailers")
	answer, err := s.client(true).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for n := range 3 {
		fmt.Fprintf(to, "%d\n", n)
		if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("%d %s\n", n, placeholder) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	_ = to.Close()
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if answer.ProtoMajor != 2 || answer.Trailer.Get("Grpc-Status") != "0" || strings.Contains(fmt.Sprint(answer.Trailer), base64.StdEncoding.EncodeToString([]byte(value))) || answer.Trailer.Get("Grpc-Message") == "" {
		t.Errorf("%s, trailers %v", answer.Proto, answer.Trailer)
	}
}
