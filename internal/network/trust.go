package network

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"paddock/internal/network/broker"
)

// ErrTrust says that brokered secrets cannot be handled as this server is set up.
var ErrTrust = errors.New("certificates for brokered secrets")

// brokerOptions opens the certificate authority, and says whom the hosts of
// brokered secrets are trusted by.
func brokerOptions(o Options) (b broker.Options, err error) {
	if b.Authority, err = broker.OpenAuthority(o.Authority); err != nil {
		return b, fmt.Errorf("%w: %w", ErrTrust, err)
	}
	if o.UpstreamCA == "" {
		return b, nil
	}
	if b.Roots, err = x509.SystemCertPool(); err != nil {
		return b, fmt.Errorf("%w: read those of this system: %w", ErrTrust, err)
	}
	text, err := os.ReadFile(o.UpstreamCA)
	if err != nil {
		return b, fmt.Errorf("%w: %w", ErrTrust, err)
	}
	if !b.Roots.AppendCertsFromPEM(text) {
		return b, fmt.Errorf("%w: %s has none in PEM", ErrTrust, o.UpstreamCA)
	}
	return b, nil
}
