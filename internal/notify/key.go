package notify

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Key signs notices, as Standard Webhooks (standardwebhooks.com) has it.
type Key struct{ secret []byte }

const (
	keyPrefix = "whsec_"
	keySize   = 32 // bytes
)

// OpenKey reads the key of this file, and makes it when there is none. A file
// that holds no key is an error and stays: receivers know the key that was
// there.
func OpenKey(file string) (Key, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(file)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read key of notices: %w", err)
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(string(text)), keyPrefix)
	secret, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(secret) < keySize {
		return Key{}, fmt.Errorf("%s holds no key of notices; put the old one back, or remove the file to have a new one made", file)
	}
	return Key{secret}, nil
}

// makeKey writes a new key, whole or not at all.
func makeKey(file string) (Key, error) {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret) // never fails since Go 1.24
	f, err := os.CreateTemp(filepath.Dir(file), ".key-*")
	if err != nil {
		return Key{}, fmt.Errorf("make key of notices: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(keyPrefix + base64.StdEncoding.EncodeToString(secret) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), file) // never over one that is there
	}
	if err != nil {
		return Key{}, fmt.Errorf("make key of notices: %w", err)
	}
	return Key{secret}, nil
}

// Sign gives the signature of a notice that is sent at a moment: over its id,
// the moment and its body.
func (k Key) Sign(id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, k.secret)
	fmt.Fprintf(mac, "%s.%s.", id, seconds(at))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func seconds(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
