package broker

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"paddock/internal/sandbox"
)

// seen is what a host was asked.
type seen struct {
	Proto, Host, Target string
	Header              http.Header
}

// recorder is a host that keeps what it is asked and says nothing of it.
type recorder struct {
	mu  sync.Mutex
	got []seen
}

func (c *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, seen{r.Proto, r.Host, r.RequestURI, r.Header.Clone()})
	_, _ = w.Write([]byte("ok"))
}

func (c *recorder) last(t *testing.T) seen {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.got) == 0 {
		t.Fatal("the host was not asked")
	}
	return c.got[len(c.got)-1]
}

func basic(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }

func TestValuesAreFilledIn(t *testing.T) {
	var c recorder
	eachWay(t, c.ServeHTTP, func(t *testing.T, s *bench, client *http.Client) {
		r, body := s.get(client, "/v1/x?key="+placeholder+"&b=1", "Authorization", "Bearer "+placeholder,
			"X-Api-Key", placeholder, "X-Twice", placeholder+","+placeholder, "X-Other", "paddock-secret-0123")
		if r.StatusCode != 200 || body != "ok" || r.ProtoMajor != map[bool]int{false: 1, true: 2}[s.server.EnableHTTP2] {
			t.Fatalf("%s %s %q", r.Proto, r.Status, body)
		}
		got := c.last(t)
		if got.Target != "/v1/x?key=sk-live%2Bthe%2Freal%3Dvalue-9876543210abc&b=1" {
			t.Errorf("asked for %s", got.Target)
		}
		for name, want := range map[string]string{"Authorization": "Bearer " + value, "X-Api-Key": value, "X-Twice": value + "," + value, "X-Other": "paddock-secret-0123"} {
			if got.Header.Get(name) != want {
				t.Errorf("%s is %q", name, got.Header.Get(name))
			}
		}
		for user, want := range map[string]string{"x-access-token:" + placeholder: "x-access-token:" + value, placeholder + ":": value + ":", "a:b": "a:b"} {
			s.get(client, "/", "Authorization", basic(user))
			if got := c.last(t).Header.Get("Authorization"); got != basic(want) {
				t.Errorf("%s: %s", user, got)
			}
		}
	})
}

// TestOnlyHeader: a secret of one header stands nowhere else.
func TestOnlyHeader(t *testing.T) {
	var c recorder
	one := theSecret
	one.Header = "x-api-key"
	other := sandbox.Brokered{Name: "OTHER", Host: "other.test", Placeholder: "paddock-other-0123456789", Value: "the value of another host"}
	s := newBench(t, benchOptions{secrets: []sandbox.Brokered{one, other}}, c.ServeHTTP)
	s.get(s.client(false), "/?a="+placeholder, "X-Api-Key", placeholder, "X-Else", placeholder, "X-Other", other.Placeholder, "Authorization", basic("u:"+placeholder))
	got := c.last(t)
	if got.Header.Get("X-Api-Key") != value {
		t.Errorf("the header is %q", got.Header.Get("X-Api-Key"))
	}
	if text := fmt.Sprint(got.Target, got.Header["X-Else"], got.Header["Authorization"], got.Header["X-Other"]); strings.Contains(text, "sk-live") ||
		strings.Contains(text, other.Value) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("u:"+value))) {
		t.Errorf("elsewhere it stands, too: %s", text)
	}
	s.broker.Entrust(nil)
	s.get(s.client(false), "/", "X-Api-Key", placeholder)
	if got := c.last(t).Header.Get("X-Api-Key"); got != placeholder {
		t.Errorf("taken away, it is %q", got)
	}
}

// TestNothingElseChanges: but for the placeholder a request is as it was sent.
func TestNothingElseChanges(t *testing.T) {
	var c recorder
	eachWay(t, c.ServeHTTP, func(t *testing.T, s *bench, client *http.Client) {
		if s.server.EnableHTTP2 {
			s.get(client, "/a%2Fb//c/../d;x=1?q=%zz&&a;b", "Te", "trailers", "X-Forwarded-For", "1.2.3.4", "User-Agent", "")
			got := c.last(t)
			if got.Proto != "HTTP/2.0" || got.Target != "/a%2Fb//c/../d;x=1?q=%zz&&a;b" || got.Header.Get("X-Forwarded-For") != "1.2.3.4" || got.Header.Get("Te") != "trailers" {
				t.Errorf("%+v", got)
			}
			return
		}
		for _, target := range []string{"/", "/a%2Fb//c/../d/./;x=1?q=%zz&&a;b+c", "/{x}|\"^`?{y}", "//two?", "/x?", "/%7e~", "*"} {
			method := "GET"
			if target == "*" {
				method = "OPTIONS"
			}
			answer := s.raw(method + " " + target + " HTTP/1.1\r\nHost: API.test:8443\r\nX-Key: " + placeholder + "\r\nx-forwarded-for: 1.2.3.4\r\nConnection: close\r\n\r\n")
			if !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
				t.Fatalf("%s: %s", target, answer)
			}
			got := c.last(t)
			want := seen{"HTTP/1.1", "API.test:8443", target, http.Header{"X-Key": {value}, "X-Forwarded-For": {"1.2.3.4"}}}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
		if s.plain { // in the form that is for proxies
			s.raw("GET http://api.test/abs%2fx?y HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
			if got := c.last(t).Target; got != "/abs%2fx?y" {
				t.Errorf("asked for %q", got)
			}
		}
	})
}

// TestOtherHosts: a connection is to one host, kept or not.
func TestOtherHosts(t *testing.T) {
	var c recorder
	for _, way := range ways[:2] {
		s := newBench(t, benchOptions{plain: way.plain}, c.ServeHTTP)
		answer := s.raw("GET /a HTTP/1.1\r\nHost: api.test\r\n\r\nGET /b HTTP/1.1\r\nHost: evil.test\r\nX: " + placeholder + "\r\n\r\nGET /c HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
		if n := strings.Count(answer, "200 OK"); n != 2 || !strings.Contains(answer, "421 Misdirected Request") {
			t.Errorf("%s", answer)
		}
		var asked []string
		for _, one := range c.got {
			asked = append(asked, one.Target)
		}
		if slices.Contains(asked, "/b") {
			t.Errorf("the host was asked for %v", asked)
		}
		if s.dials != 1 {
			t.Errorf("%d connections to the host", s.dials)
		}
	}
	s := newBench(t, benchOptions{http2: true}, c.ServeHTTP)
	r, err := http.NewRequest(http.MethodGet, s.url("/"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.test"
	if r, _ := s.do(s.client(true), r); r.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("HTTP/2: %s", r.Status)
	}
}

// TestBadCertificate: nothing goes to a host whose certificate is not good, and
// the client is told why.
func TestBadCertificate(t *testing.T) {
	var c recorder
	for _, h2 := range []bool{false, true} {
		s := newBench(t, benchOptions{strange: true, http2: h2}, c.ServeHTTP)
		r, body := s.get(s.client(h2), "/", "X-Key", placeholder)
		if r.StatusCode != http.StatusBadGateway || !strings.Contains(body, "cannot speak to api.test") || !strings.Contains(body, "certificate") || strings.Count(body, "\n") != 1 {
			t.Errorf("%s %q", r.Status, body)
		}
		if len(c.got) > 0 || len(s.denied) != 1 {
			t.Errorf("the host was asked %v, denied is %v", c.got, s.denied)
		}
	}
}

// TestClientWithoutTrust: who does not trust the authority gets nothing, and the
// host is not asked.
func TestClientWithoutTrust(t *testing.T) {
	var c recorder
	s := newBench(t, benchOptions{}, c.ServeHTTP)
	client := s.client(false)
	client.Transport.(*http.Transport).TLSClientConfig.RootCAs = nil
	if _, err := client.Get(s.url("/")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
	if len(c.got) > 0 {
		t.Errorf("the host was asked %v", c.got)
	}
}

func (c *recorder) String() string { text, _ := json.Marshal(c.got); return string(text) }
