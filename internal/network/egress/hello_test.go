package egress

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
)

// clientHello is what a TLS client sends first.
func clientHello(t *testing.T, name string) []byte {
	t.Helper()
	client, server := net.Pipe()
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
	}()
	b := make([]byte, MostHello)
	n, err := server.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	return b[:n]
}

func TestTLS(t *testing.T) {
	b := clientHello(t, "www.Example.com")
	for n := range len(b) {
		if h := ReadHello(b[:n]); h.Whole {
			t.Fatalf("of %d bytes %d are enough: %+v", len(b), n, h)
		}
	}
	if h := ReadHello(b); h.Protocol != "tls" || h.Name != "www.example.com" || !h.Whole {
		t.Errorf("%+v", h)
	}
	if h := ReadHello(clientHello(t, "192.0.2.1")); h.Name != "" || !h.Whole { // addresses are not named
		t.Errorf("without a name: %+v", h)
	}
	// Damaged ones name nobody, and harm nobody.
	for i := range b {
		damaged := append([]byte(nil), b...)
		damaged[i] ^= 0xff
		ReadHello(damaged)
		ReadHello(b[i:])
	}
}

func TestHTTP(t *testing.T) {
	for text, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: Example.com:8080\r\n\r\n":                "example.com",
		"GET http://example.com/x HTTP/1.1\r\nHost: example.com\r\n\r\n":  "example.com",
		"GET http://other.test/x HTTP/1.1\r\nHost: example.com\r\n\r\n":   "",
		"GET / HTTP/1.1\r\nHost: example.com\r\nhost: other.test\r\n\r\n": "",
		"CONNECT other.test:443 HTTP/1.1\r\nHost: example.com\r\n\r\n":    "",
		"GET / HTTP/1.0\r\n\r\n":           "",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": "",
		"POST /a HTTP/1.1\r\nX: 1\r\nHOST :example.com.\r\nContent-Length: 2\r\n\r\nhi": "example.com",
	} {
		if h := ReadHello([]byte(text)); h.Protocol != "http" || h.Name != want || !h.Whole {
			t.Errorf("%q: %+v, want %q", text, h, want)
		}
		end := strings.Index(text, "\r\n\r\n")
		for n := 1; n < end; n++ {
			if h := ReadHello([]byte(text[:n])); h.Whole {
				t.Errorf("%q is enough: %+v", text[:n], h)
			}
		}
	}
	for _, text := range []string{"SSH-2.0-OpenSSH\r\n", "\x00\x01", "get / HTTP/1.1\r\n"} {
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
		"SSH-2.0-x\r\n": "SSH-2.0-x\r\n",
	} {
		if got := ReadHello([]byte(text)).Closing([]byte(text)); string(got) != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
