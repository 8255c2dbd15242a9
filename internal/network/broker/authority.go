package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// authorityBefore and authorityAfter are how long before and after its making
	// the authority is valid: machines' clocks may be wrong.
	authorityBefore = 365 * 24 * time.Hour
	authorityAfter  = 20 * 365 * 24 * time.Hour
	// leafBefore and leafAfter are the same of a host's certificate; together they
	// stay below what clients accept.
	leafBefore = 60 * 24 * time.Hour
	leafAfter  = 300 * 24 * time.Hour
	// leafAge is after how long a host gets another certificate.
	leafAge = 30 * 24 * time.Hour
	// mostLeaves bounds the certificates that are kept.
	mostLeaves = 1024
)

// Authority is the certificate authority of this installation. It signs for the
// hosts of brokered secrets, towards the machines that have them and nobody else.
type Authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate

	mu     sync.Mutex
	leaves map[string]leaf // by host
}

// leaf is a host's certificate.
type leaf struct {
	cert *tls.Certificate
	made time.Time
}

// OpenAuthority reads the authority from a folder, where it is made once.
func OpenAuthority(folder string) (*Authority, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of the certificate authority: %w", err)
	}
	a := &Authority{leaves: map[string]leaf{}}
	keyFile, certFile := filepath.Join(folder, "ca.key"), filepath.Join(folder, "ca.pem")
	key, err := readOrMake(keyFile, "PRIVATE KEY", func() ([]byte, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		return x509.MarshalPKCS8PrivateKey(key)
	})
	if err != nil {
		return nil, fmt.Errorf("key of the certificate authority: %w", err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("key of the certificate authority in %s: %w", keyFile, err)
	}
	var ok bool
	if a.key, ok = parsed.(*ecdsa.PrivateKey); !ok {
		return nil, fmt.Errorf("key of the certificate authority in %s: it is a %T", keyFile, parsed)
	}
	cert, err := readOrMake(certFile, "CERTIFICATE", func() ([]byte, error) { return a.selfSigned(time.Now()) })
	if err != nil {
		return nil, fmt.Errorf("certificate of the certificate authority: %w", err)
	}
	if a.cert, err = x509.ParseCertificate(cert); err != nil {
		return nil, fmt.Errorf("certificate of the certificate authority in %s: %w", certFile, err)
	}
	if !a.key.PublicKey.Equal(a.cert.PublicKey) {
		return nil, fmt.Errorf("%s is not the certificate of %s; remove both, and new ones are made", certFile, keyFile)
	}
	return a, nil
}

// readOrMake gives what a PEM file holds, which is made when absent.
func readOrMake(path, kind string, make func() ([]byte, error)) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		if block, _ := pem.Decode(text); block != nil && block.Type == kind {
			return block.Bytes, nil
		}
		return nil, fmt.Errorf("%s is damaged; remove it, and a new one is made", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	content, err := make()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	err = pem.Encode(file, &pem.Block{Type: kind, Bytes: content})
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, err
	}
	return content, os.Rename(path+".new", path)
}

func (a *Authority) selfSigned(now time.Time) ([]byte, error) {
	public, err := x509.MarshalPKIXPublicKey(&a.key.PublicKey)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(public)
	doc := &x509.Certificate{
		SerialNumber: serial(),
		// Two installations have two names, so that nothing takes one for the other.
		Subject:   pkix.Name{Organization: []string{"Paddock"}, CommonName: "Paddock sandboxes " + hex.EncodeToString(sum[:4])},
		NotBefore: now.Add(-authorityBefore), NotAfter: now.Add(authorityAfter),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: sum[:20],
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	return x509.CreateCertificate(rand.Reader, doc, doc, &a.key.PublicKey, a.key)
}

func serial() *big.Int {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its contract
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b[:])
}

// PEM is the authority's certificate.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Leaf gives the certificate of a host.
func (a *Authority) Leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if l, ok := a.leaves[host]; ok && now.Sub(l.made) < leafAge {
		return l.cert, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of %s: %w", host, err)
	}
	doc := &x509.Certificate{
		SerialNumber: serial(), DNSNames: []string{host}, Subject: pkix.Name{Organization: []string{"Paddock"}},
		NotBefore: now.Add(-leafBefore), NotAfter: now.Add(leafAfter),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, doc, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", host, err)
	}
	if len(a.leaves) >= mostLeaves {
		clear(a.leaves)
	}
	l := leaf{&tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}, now}
	a.leaves[host] = l
	return l.cert, nil
}
