package gvisor

import (
	"os"
	"path/filepath"

	"paddock/internal/sandbox"
)

// hostBundles are where this host may keep all the authorities that it trusts.
var hostBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}

// trust writes, for a machine with brokered secrets, which authority signs for
// their hosts. Its guest has the system inside trust it. Any other machine is not
// told of it.
func (f folder) trust(secrets []sandbox.Brokered, authority []byte) error {
	if len(secrets) == 0 || len(authority) == 0 {
		return nil
	}
	var all []byte
	for _, path := range hostBundles {
		if text, err := os.ReadFile(path); err == nil {
			all = append(text, '\n')
			break
		}
	}
	if err := writeIdentity(filepath.Join(f.run(), "ca-bundle.pem"), string(append(all, authority...)), 0o644); err != nil {
		return err
	}
	return writeIdentity(filepath.Join(f.run(), "ca.pem"), string(authority), 0o644)
}
