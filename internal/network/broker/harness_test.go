package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"paddock/internal/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	host        = "api.test"
	placeholder = "paddock-secret-0123456789"
	value       = "sk-live+the/real=value-9876543210abc"
)

// theSecret is what most tests have.
var theSecret = sandbox.Brokered{Name: "KEY", Host: host, Placeholder: placeholder, Value: value}

// bench is a host, and a broker between it and a client.
type bench struct {
	t      *testing.T
	ours   *Authority
	broker *Broker
	server *httptest.Server
	front  string // where the broker listens
	plain  bool

	mu     sync.Mutex
	denied []string
	dials  int
}

type benchOptions struct {
	plain   bool // no TLS
	http2   bool // at the host
	strange bool // the host's certificate is of nobody we know
	secrets []sandbox.Brokered
}

func newBench(t *testing.T, o benchOptions, handler http.HandlerFunc) *bench {
	t.Helper()
	s := &bench{t: t, plain: o.plain}
	var err error
	if s.ours, err = OpenAuthority(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	theirs, err := OpenAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := theirs.Leaf(host)
	if err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewUnstartedServer(handler)
	s.server.Config.DisableGeneralOptionsHandler = true
	s.server.EnableHTTP2 = o.http2
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if o.plain {
		s.server.Start()
	} else {
		s.server.TLS = &tls.Config{Certificates: []tls.Certificate{*leaf}}
		s.server.StartTLS()
	}
	if o.secrets == nil {
		o.secrets = []sandbox.Brokered{theSecret}
	}
	roots := poolOf(theirs)
	if o.strange {
		roots = x509.NewCertPool()
	}
	s.broker = New(Options{Authority: s.ours, Roots: roots}, o.secrets)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.front = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				s.broker.Serve(ctx, Connection{Inside: conn, Host: host, TLS: !o.plain, Dial: s.dial, Denied: func(why string) {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.denied = append(s.denied, why)
				}})
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		work.Wait()
		s.server.Close()
	})
	return s
}

func (s *bench) dial(ctx context.Context) (net.Conn, error) {
	s.mu.Lock()
	s.dials++
	s.mu.Unlock()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.server.Listener.Addr().String())
}

func poolOf(a *Authority) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM())
	return pool
}

// client gives a client that reaches the host through the broker.
func (s *bench) client(http2 bool) *http.Client {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", s.front)
		},
		TLSClientConfig: &tls.Config{RootCAs: poolOf(s.ours)}, DisableCompression: true, ForceAttemptHTTP2: http2,
		ExpectContinueTimeout: continuePatience,
	}
	s.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (s *bench) url(path string) string {
	if s.plain {
		return "http://" + host + path
	}
	return "https://" + host + path
}

// raw sends bytes and gives all that is answered until the connection ends.
func (s *bench) raw(request string) string {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.front)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	if !s.plain {
		conn = tls.Client(conn, &tls.Config{RootCAs: poolOf(s.ours), ServerName: host})
	}
	if _, err := io.WriteString(conn, request); err != nil {
		s.t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(answer)
}

// get sends a GET with headers, given as name, value, …, and gives the answer.
func (s *bench) get(c *http.Client, path string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url(path), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return s.do(c, r)
}

func (s *bench) do(c *http.Client, r *http.Request) (*http.Response, string) {
	s.t.Helper()
	answer, err := c.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer, string(body)
}

// ways are the ways in which the two sides speak.
var ways = []struct {
	name         string
	plain, http2 bool
}{{"HTTP", true, false}, {"HTTP/1.1 over TLS", false, false}, {"HTTP/2", false, true}}

// eachWay runs a test over each of them.
func eachWay(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, s *bench, c *http.Client)) {
	for _, way := range ways {
		t.Run(strings.ReplaceAll(way.name, "/", " "), func(t *testing.T) {
			s := newBench(t, benchOptions{plain: way.plain, http2: way.http2}, handler)
			test(t, s, s.client(way.http2))
		})
	}
}
