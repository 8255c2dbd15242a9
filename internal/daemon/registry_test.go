package daemon

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"paddock/internal/network/egress"
	"paddock/internal/sandbox"
)

// TestRegistryTransport: nobody gets into this host by naming a registry of it,
// but where the operator has named it.
func TestRegistryTransport(t *testing.T) {
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	defer server.Close()
	address := server.Listener.Addr().String()
	port := address[strings.LastIndexByte(address, ':')+1:]
	for _, c := range []struct {
		url   string
		named []string
		ok    bool
	}{
		{server.URL, nil, false},
		{"http://localhost:" + port, nil, false},
		{"http://[::ffff:127.0.0.1]:" + port, nil, false},
		{"http://localhost:" + port, []string{address}, false},
		{server.URL, []string{"127.0.0.1:1"}, false},
		{server.URL, []string{address}, true},
		{server.URL, []string{"127.0.0.1"}, true},
	} {
		before := served
		client := http.Client{Transport: registryTransport(egress.Operator{}, c.named)}
		response, err := client.Get(c.url)
		if err == nil {
			response.Body.Close()
		}
		if (err == nil) != c.ok || (served > before) != c.ok {
			t.Errorf("%s with %v named: %v, served %v", c.url, c.named, err, served > before)
		}
	}
}

func TestMayDial(t *testing.T) {
	gate := egress.NewGate(egress.Operator{AllowNets: []netip.Prefix{netip.MustParsePrefix("192.168.7.0/24")}}, sandbox.Egress{All: true})
	for address, ok := range map[string]bool{
		"203.0.113.9:443": true, "10.0.0.1:443": false, "192.168.7.9:443": true, "192.168.8.9:443": false, "169.254.169.254:80": false, "127.0.0.1:80": false,
		"[2a00:1450::1]:443": true, "[::1]:443": false, "[fe80::1]:443": false, "[fd00:ec2::254]:80": false, "[::ffff:10.0.0.1]:443": false,
		"[64:ff9b::a00:1]:443": false, "[2002:a00:1::]:443": false, "[::]:443": false, "0.0.0.0:443": false,
	} {
		if err := mayDial(gate, "registry.example.com", address); (err == nil) != ok {
			t.Errorf("%s: %v, want allowed %v", address, err, ok)
		}
	}
}
