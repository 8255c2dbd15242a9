package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// certificate makes that of the far host. For a server that is to trust it,
// authorities has the name of the file it is in.
func (f *far) certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	doc := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"far.test", "*.far.test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, doc, doc, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	f.authorities = filepath.Join(f.t.TempDir(), "far.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(f.authorities, text, 0o600)
}

// last is the last request that its HTTP server saw for a path.
func (f *far) last(path string) *http.Request {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.seen) - 1; i >= 0; i-- {
		if f.seen[i].URL.Path == path {
			return f.seen[i]
		}
	}
	f.t.Fatalf("the far host was not asked for %s", path)
	return nil
}
