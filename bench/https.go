package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"paddock/client"
)

//go:embed https.py
var httpsScript string

// The names of the far host. The server puts a secret into requests to one.
const plainName, brokeredName = "plain.bench.test", "brokered.bench.test"

// measureBrokered measures HTTPS to the far host from a session: through the gate
// as it is, and where the gate ends TLS and puts secrets in.
func measureBrokered(ctx context.Context, s *server, o options, out io.Writer) (err error) {
	b, err := newServer(ctx, s.options, "--pool", "0", "--upstream-ca", filepath.Join(s.dir, "far.pem"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	spec := "agent: none\nsize: medium\nsecrets: {KEY: {value: bench-value-0123456789, host: " + brokeredName + "}}\n"
	sess, err := b.api.CreateSession(ctx, []byte(spec), client.CreateOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = b.remove(context.WithoutCancel(ctx), sess.SessionID) }()
	if err := b.waitReady(ctx, sess.SessionID); err != nil {
		return err
	}
	names := []string{plainName, brokeredName}
	var took [2][4][]float64
	for range min(o.n, networkSamples) {
		for i, name := range names {
			argv := []string{"/usr/bin/python3", "-c", httpsScript, networkFar, name, strconv.Itoa(networkMiB)}
			r, err := b.api.Exec(ctx, sess.SessionID, client.ExecRequest{Argv: argv, TimeoutSeconds: 300})
			if err == nil && r.ExitCode != 0 {
				err = errors.New(r.Stderr)
			}
			if err == nil {
				err = addNetwork(&took[i], r.Stdout)
			}
			if err != nil {
				return fmt.Errorf("HTTPS to %s: %w", name, err)
			}
		}
	}
	fmt.Fprintf(out, "\nHTTPS from a session to that host (medians of %d)\n", len(took[0][0]))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tas it is\twith brokered secrets")
	for i, row := range []string{"get, MB/s", "put, MB/s", "request, µs", "connect and request, µs"} {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\n", row, middle(took[0][i]), middle(took[1][i]))
	}
	return w.Flush()
}

// farCertificate makes that of the far host, and writes it to a file for servers
// that are to trust it.
func farCertificate(file string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	doc := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{plainName, brokeredName}, NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, doc, doc, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(file, text, 0o600)
}

// serveHTTPS is the far host's server: bytes without end at /big, else ok. It
// ends when the listener is closed.
func serveHTTPS(l net.Listener, cert tls.Certificate) {
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/big" {
			_, _ = io.CopyBuffer(w, endless{}, make([]byte, 1<<20)) // until the client has enough
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok")
	})}
	_ = h.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}}))
}
