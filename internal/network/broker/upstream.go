package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"
)

const (
	// streamBuffer and connectionBuffer bound what HTTP/2 holds that was not read.
	streamBuffer     = 1 << 20
	connectionBuffer = 4 << 20
	// pieceBuffer is what is moved at once.
	pieceBuffer = 64 << 10
	// continuePatience is how long a host is waited for that is asked whether it
	// wants a request's body.
	continuePatience = 3 * time.Second
)

// The protocols there are on both sides, by their names in ALPN.
const (
	http1 = "http/1.1"
	http2 = "h2"
)

// protocols has HTTP speak one of them.
func protocols(name string) *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP2(name == http2)
	p.SetHTTP1(name != http2)
	return p
}

// accept has TLS with the machine. Meanwhile it has TLS with the host, for what
// the client offers to speak: both then speak what the host has chosen.
func (s *serving) accept(ctx context.Context, inside net.Conn) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakePatience)
	defer cancel()
	conn := tls.Server(inside, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			leaf, err := s.broker.options.Authority.Leaf(s.Host)
			if err != nil {
				return nil, err
			}
			config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*leaf}, DynamicRecordSizingDisabled: true}
			offers := slices.DeleteFunc(slices.Clone(hello.SupportedProtos), func(p string) bool { return p != http1 && p != http2 })
			host, err := s.dialTLS(ctx, offers)
			if err != nil { // every request is answered with it
				s.failed, config.NextProtos = err, offers
				return config, nil
			}
			s.first = host
			if p := host.ConnectionState().NegotiatedProtocol; p != "" {
				config.NextProtos = []string{p}
			}
			return config, nil
		},
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS with the machine: %w", err)
	}
	return conn, nil
}

// errUntrusted says that a host's certificate is not good.
var errUntrusted = errors.New("its certificate is not to be trusted")

// dialTLS opens a connection to the host, whose certificate has to be good.
func (s *serving) dialTLS(ctx context.Context, offers []string) (*tls.Conn, error) {
	raw, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{
		ServerName: s.Host, RootCAs: s.broker.options.Roots, NextProtos: offers, MinVersion: tls.VersionTLS12,
		ClientSessionCache: s.broker.sessions, DynamicRecordSizingDisabled: true,
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		var bad *tls.CertificateVerificationError
		var name x509.HostnameError
		if errors.As(err, &bad) || errors.As(err, &name) {
			s.Denied(errUntrusted.Error())
			return nil, fmt.Errorf("%w: %w", errUntrusted, err)
		}
		return nil, fmt.Errorf("TLS with it: %w", err)
	}
	return conn, nil
}

// transport sends requests to the host, by the protocol that the machine speaks.
func (s *serving) transport(protocol string) *http.Transport {
	t := &http.Transport{
		DisableCompression: true, ExpectContinueTimeout: continuePatience, Protocols: protocols(protocol),
		ReadBufferSize: pieceBuffer, WriteBufferSize: pieceBuffer,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: connectionBuffer},
	}
	t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if conn := s.takeFirst(); conn != nil {
			return conn, nil
		}
		return s.Dial(ctx)
	}
	t.DialTLSContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if conn := s.takeFirst(); conn != nil {
			return conn, nil
		}
		var offers []string
		if protocol != "" {
			offers = []string{protocol}
		}
		return s.dialTLS(ctx, offers)
	}
	return t
}

func (s *serving) takeFirst() (conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, s.first = s.first, nil
	return conn
}
