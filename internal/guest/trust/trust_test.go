package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// system makes files below a folder and gives that.
func system(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestInstall(t *testing.T) {
	const ours = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n"
	run := system(t, map[string]string{"ca.pem": ours, "ca-bundle.pem": "host\n" + ours})
	for name, c := range map[string]struct {
		files  map[string]string
		bundle string
		want   map[string]string
	}{
		"Debian": {
			map[string]string{"/etc/ssl/certs/ca-certificates.crt": "a\n", "/usr/local/share/ca-certificates/own.crt": "own"},
			"/etc/ssl/certs/ca-certificates.crt",
			map[string]string{"/etc/ssl/certs/ca-certificates.crt": "a\n" + ours, "/usr/local/share/ca-certificates/paddock.crt": ours, "/usr/local/share/ca-certificates/own.crt": "own"},
		},
		"Fedora": {
			map[string]string{"/etc/pki/tls/certs/ca-bundle.crt": "->../../all.pem", "/etc/pki/all.pem": "a", "/etc/pki/ca-trust/source/anchors/README": ""},
			"/etc/pki/tls/certs/ca-bundle.crt",
			map[string]string{"/etc/pki/all.pem": "a\n" + ours, "/etc/pki/tls/certs/ca-bundle.crt": "a\n" + ours, "/etc/pki/ca-trust/source/anchors/paddock.crt": ours},
		},
		"Alpine": {
			map[string]string{"/etc/ssl/certs/ca-certificates.crt": "a\n", "/etc/ssl/cert.pem": "->certs/ca-certificates.crt"},
			"/etc/ssl/certs/ca-certificates.crt",
			map[string]string{"/etc/ssl/cert.pem": "a\n" + ours},
		},
		"nothing": {nil, "/etc/ssl/certs/ca-certificates.crt", map[string]string{"/etc/ssl/certs/ca-certificates.crt": "host\n" + ours}},
	} {
		t.Run(name, func(t *testing.T) {
			root := system(t, c.files)
			for range 2 {
				env, err := Install(root, filepath.Join(run, "ca.pem"), filepath.Join(run, "ca-bundle.pem"))
				if err != nil {
					t.Fatal(err)
				}
				if len(env) != 5 || env["SSL_CERT_FILE"] != c.bundle || env["NODE_EXTRA_CA_CERTS"] != filepath.Join(run, "ca.pem") {
					t.Errorf("%v", env)
				}
				for path, want := range c.want {
					if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(got) != want {
						t.Errorf("%s: %q, %v; want %q", path, got, err, want)
					}
				}
			}
		})
	}
	root := system(t, map[string]string{"/etc/ssl/certs/ca-certificates.crt": "a\n"})
	if env, err := Install(root, filepath.Join(run, "none.pem"), ""); env != nil || err != nil {
		t.Errorf("without an authority: %v, %v", env, err)
	}
}
