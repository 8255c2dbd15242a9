// Package trust has the programs of a machine trust one more certificate
// authority: the one that signs for the hosts of brokered secrets.
package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// bundles are where systems keep all the authorities that they trust, in one file.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", // Debian, Alpine, Arch
	"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora and its kin
	"/etc/ssl/ca-bundle.pem",             // SUSE
	"/etc/ssl/cert.pem",                  // Alpine's LibreSSL
}

// anchors are folders from which systems make those files anew.
var anchors = []string{"/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors", "/etc/pki/trust/anchors"}

// Install has the system in root, which is "/" inside a machine, trust the
// authority in the file ca, and gives the variables that have programs with
// certificates of their own do so, too. Where the system has no authorities, it
// gets those of the file fallback. Without the file ca nothing is done; again
// is no error.
func Install(root, ca, fallback string) (env map[string]string, err error) {
	cert, err := os.ReadFile(ca)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	bundle := ""
	for _, path := range bundles {
		ok, err := add(filepath.Join(root, path), cert)
		if err != nil {
			return nil, err
		}
		if ok && bundle == "" {
			bundle = path
		}
	}
	if bundle == "" {
		bundle = bundles[0]
		all, err := os.ReadFile(fallback)
		if err == nil {
			err = os.MkdirAll(filepath.Join(root, filepath.Dir(bundle)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, bundle), all, 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("give system authorities: %w", err)
		}
	}
	for _, folder := range anchors {
		folder = filepath.Join(root, folder)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, "paddock.crt"), cert, 0o644); err != nil {
			return nil, fmt.Errorf("add authority: %w", err)
		}
	}
	return map[string]string{
		"NODE_EXTRA_CA_CERTS": ca, // beside those that Node has
		"SSL_CERT_FILE":       bundle, "REQUESTS_CA_BUNDLE": bundle, "GIT_SSL_CAINFO": bundle, "CURL_CA_BUNDLE": bundle,
	}, nil
}

// add adds the authority to a file of them; false when there is no such file.
func add(path string, cert []byte) (ok bool, err error) {
	path, err = filepath.EvalSymlinks(path) // replaced is what the links lead to
	if err != nil {
		return false, nil
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return false, nil // it is no file
	}
	if bytes.Contains(all, bytes.TrimSpace(cert)) {
		return true, nil
	}
	if len(all) > 0 && !bytes.HasSuffix(all, []byte("\n")) {
		all = append(all, '\n')
	}
	err = os.WriteFile(path+".new", append(all, cert...), 0o644)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return false, fmt.Errorf("add authority: %w", err)
	}
	return true, nil
}
