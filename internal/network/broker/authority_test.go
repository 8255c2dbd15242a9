package broker

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAuthority: it is made once, its key is for nobody else, and what it signs
// counts where clocks are wrong, too.
func TestAuthority(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "ca")
	one, err := OpenAuthority(folder)
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenAuthority(folder)
	if err != nil || !bytes.Equal(one.PEM(), again.PEM()) {
		t.Fatalf("opened again it is another: %v", err)
	}
	if info, err := os.Stat(filepath.Join(folder, "ca.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info.Mode(), err)
	}
	leaf, err := again.Leaf(host)
	if err != nil {
		t.Fatal(err)
	}
	if same, _ := again.Leaf(host); same != leaf {
		t.Error("it is made anew each time")
	}
	cert, err := x509.ParseCertificate(leaf.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(one.PEM())
	for _, at := range []time.Duration{-59 * 24 * time.Hour, 0, 269 * 24 * time.Hour} {
		if _, err := cert.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: time.Now().Add(at)}); err != nil {
			t.Errorf("%s from now: %v", at, err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{DNSName: "other.test", Roots: roots}); err == nil {
		t.Error("it counts for another host")
	}
	if len(cert.AuthorityKeyId) == 0 || !bytes.Equal(cert.AuthorityKeyId, one.cert.SubjectKeyId) {
		t.Error("it does not say who signed it")
	}
	other, err := OpenAuthority(filepath.Join(t.TempDir(), "other"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(other.cert.RawSubject, one.cert.RawSubject) {
		t.Error("two authorities have one name")
	}
	if err := os.WriteFile(filepath.Join(folder, "ca.pem"), other.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(folder); err == nil {
		t.Error("a certificate of another key is taken")
	}
}
