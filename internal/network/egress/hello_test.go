package egress

import (
	"crypto/tls"
	"net"
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
