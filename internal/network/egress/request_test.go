package egress

import (
	"strings"
	"testing"
)

func TestHTTP(t *testing.T) {
	for text, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: Example.com:8080\r\n\r\n":                "example.com",
		"GET http://example.com/x HTTP/1.1\r\nHost: example.com\r\n\r\n":  "example.com",
		"GET http://other.test/x HTTP/1.1\r\nHost: example.com\r\n\r\n":   "",
		"GET / HTTP/1.1\r\nHost: example.com\r\nhost: other.test\r\n\r\n": "",
		"CONNECT other.test:443 HTTP/1.1\r\nHost: example.com\r\n\r\n":    "",
		"GET / HTTP/1.0\r\n\r\n":           "",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": "",
		// What some server reads otherwise names nobody.
		"GET / HTTP/1.1\nHost: other.test\nX: 1\r\nHost: example.com\r\n\r\n":           "",
		"GET / HTTP/1.1\r\nX: 1\nHost: other.test\r\nHost: example.com\r\n\r\n":         "",
		"GET / HTTP/1.1\r\nX: 1\rHost: other.test\r\nHost: example.com\r\n\r\n":         "",
		"GET / HTTP/1.1\r\nHost: example.com\r\n .other.test\r\n\r\n":                   "",
		"\r\nGET / HTTP/1.1\r\nHost: example.com\r\n\r\n":                               "",
		"PROPFIND / HTTP/1.1\r\nHost: other.test\r\nHost: example.com\r\n\r\n":          "",
		"M-SEARCH / HTTP/1.1\r\nHost: example.com\r\n\r\n":                              "example.com",
		"get / HTTP/1.1\r\nHost: example.com\r\n\r\n":                                   "example.com",
		"POST /a HTTP/1.1\r\nX: 1\r\nHOST :example.com.\r\nContent-Length: 2\r\n\r\nhi": "example.com",
	} {
		if h := ReadHello([]byte(text)); h.Protocol != "http" || h.Name != want || !h.Whole {
			t.Errorf("%q: %+v, want %q", text, h, want)
		}
		end := strings.Index(text, "\r\n\r\n")
		for n := 1; n < end && text[0] != '\r'; n++ {
			if h := ReadHello([]byte(text[:n])); h.Whole {
				t.Errorf("%q is enough: %+v", text[:n], h)
			}
		}
	}
	for _, text := range []string{"SSH-2.0-OpenSSH\r\n", "\x00\x01", "EHLO example.com\r\n", "*1\r\n$4\r\nPING\r\n", "a: b", "PING\r\n"} {
		if h := ReadHello([]byte(text)); h.Protocol != "" || !h.Whole {
			t.Errorf("%q: %+v", text, h)
		}
	}
}

func TestClosing(t *testing.T) {
	for text, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n":                                      "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"PUT / HTTP/1.1\r\nconnection: keep-alive\r\nHost: a\r\n\r\nbody":        "PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nbody",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n": "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
		// A body could be followed by another request.
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 1\r\n\r\n1": "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1",
		"SSH-2.0-x\r\n": "SSH-2.0-x\r\n",
	} {
		if got := ReadHello([]byte(text)).Closing([]byte(text)); string(got) != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
