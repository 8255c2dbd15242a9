package daemon

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"

	"paddock/internal/network/egress"
	"paddock/internal/sandbox"
)

// registryPatience bounds each step on the way to a registry's first word.
const registryPatience = 30 * time.Second

// registryTransport reaches registries of images. Whoever has a token names them,
// and the images name where their parts are; so it connects to where sandboxes
// may connect at the most, and not into this host and its networks. The registries
// that the operator names are reached wherever they are, as is a proxy that the
// environment of the server names.
func registryTransport(operator egress.Operator, named []string) http.RoundTripper {
	trusted := slices.Concat(named, proxies())
	gate := egress.NewGate(operator, sandbox.Egress{All: true})
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dialer := net.Dialer{Timeout: registryPatience, KeepAlive: registryPatience}
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(trusted, host) && !slices.Contains(trusted, net.JoinHostPort(host, port)) {
				if why := gate.Name(host); why != "" {
					return nil, fmt.Errorf("%s may not be connected to: %s", host, why)
				}
				dialer.Control = func(_, address string, _ syscall.RawConn) error { return mayDial(gate, host, address) }
			}
			return dialer.DialContext(ctx, network, address)
		},
		TLSHandshakeTimeout: registryPatience, ResponseHeaderTimeout: registryPatience, IdleConnTimeout: registryPatience,
		ForceAttemptHTTP2: true,
	}
}

// mayDial decides by the address that a name has turned out to have.
func mayDial(gate *egress.Gate, host, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	if why := gate.Connect("tcp", to).Why; why != "" {
		return fmt.Errorf("%s may not be connected to: %s; the operator of this server can name the registry with --registry", host, why)
	}
	if to.Addr().Is6() && !global6(to.Addr()) {
		return fmt.Errorf("%s may not be connected to: it is a private address; the operator of this server can name the registry with --registry", host)
	}
	return nil
}

// embedding6 are the ranges of IPv6 in which an address of IPv4 is hidden, whatever
// that one is.
var embedding6 = []netip.Prefix{netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32")}

func global6(addr netip.Addr) bool {
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && netip.MustParsePrefix("2000::/3").Contains(addr) &&
		!slices.ContainsFunc(embedding6, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// proxies are those that the environment names, as host:port.
func proxies() (list []string) {
	from := httpproxy.FromEnvironment()
	for _, text := range []string{from.HTTPProxy, from.HTTPSProxy} {
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			continue
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"https": "443", "socks5": "1080"}[u.Scheme]
		}
		if port == "" {
			port = "80"
		}
		list = append(list, net.JoinHostPort(u.Hostname(), port))
	}
	return list
}
