package broker

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// askPlain has a host answer in a way that can be read: compressed by gzip where
// the client takes that, else as it is. A part of something compressed cannot be
// read.
func askPlain(h http.Header) {
	accepts := h.Values("Accept-Encoding")
	if len(accepts) == 0 {
		return
	}
	use := "identity"
	for one := range strings.SplitSeq(strings.ToLower(strings.Join(accepts, ",")), ",") {
		name, weight, _ := strings.Cut(one, ";")
		if name = strings.TrimSpace(name); name != "gzip" && name != "*" {
			continue
		}
		if weight = strings.ReplaceAll(weight, " ", ""); strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == "" {
			use = "gzip"
		}
	}
	if h.Get("Range") != "" {
		use = "identity"
	}
	h.Set("Accept-Encoding", use)
}

// unzipped is the content of a gzip stream.
type unzipped struct {
	source io.ReadCloser
	zip    *gzip.Reader
}

// Read is part of io.Reader. Nothing is read before, so that an answer's head
// does not wait for its body.
func (u *unzipped) Read(b []byte) (n int, err error) {
	if u.zip == nil {
		if u.zip, err = gzip.NewReader(u.source); err != nil {
			return 0, err
		}
	}
	return u.zip.Read(b)
}

// Close is part of io.Closer.
func (u *unzipped) Close() error { return u.source.Close() }
