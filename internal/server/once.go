package server

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"

	"paddock/internal/engine"
	"paddock/internal/fault"
	"paddock/internal/store"
)

// The headers of calls that can be repeated without being done again.
const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
)

// maxKey is the longest key, in bytes.
const maxKey = 255

// callName is a call's key and the digest of what it asks, both empty of a call
// without a key. The digest is whole once the body has been read.
type callName struct {
	key  string
	asks hash.Hash
}

// named reads the key of a call that may make something. Calls of other methods
// can be repeated as they are.
func named(r request) (request, error) {
	keys := r.Header.Values(keyHeader)
	if r.Method != http.MethodPost || len(keys) == 0 {
		return r, nil
	}
	key := keys[0]
	if len(keys) > 1 || !saneKey(key) {
		return r, fault.New(fault.BadRequest, "%s is one value of 1 to %d printable ASCII characters without spaces, such as a UUID", keyHeader, maxKey)
	}
	r.name = callName{key: key, asks: sha256.New()}
	// Both prefixes are one API, and a body means nothing without its type.
	fmt.Fprintf(r.name.asks, "%s %s?%s %s\n", r.Method, r.URL.EscapedPath()[len(r.prefix):], r.URL.Query().Encode(), contentType(r.Request))
	r.Body = &heard{ReadCloser: r.Body, by: r.name.asks}
	return r, nil
}

func saneKey(key string) bool {
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return key != "" && len(key) <= maxKey
}

// heard is a body that is written to by as it is read.
type heard struct {
	io.ReadCloser
	by io.Writer
}

// Read reads, and passes on what was read.
func (h *heard) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	_, _ = h.by.Write(b[:n]) // a hash takes everything
	return n, err
}

// once names the call to the engine. Its body has to be read before.
func once[T any](r request, answer func(T) store.Answer) engine.Once[T] {
	if r.name.key == "" {
		return engine.Once[T]{}
	}
	return engine.Once[T]{Key: r.name.key, Request: hex.EncodeToString(r.name.asks.Sum(nil)), Answer: answer}
}
