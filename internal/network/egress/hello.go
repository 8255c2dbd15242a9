package egress

import (
	"encoding/binary"
	"strings"
)

// MostHello is how many bytes of a connection are looked at for the name that it
// asks for. A TLS record holds at most 16 KiB.
const MostHello = 5 + 16<<10

// Hello is what the first bytes of a connection ask for.
type Hello struct {
	Protocol string // "tls", "http", or "" for anything else
	Name     string // of the host, in lower case; "" when none is named
	Whole    bool   // false: more bytes are needed to tell
	// Upgrades says of an HTTP request that it asks for another protocol, and has
	// no body: what follows the head is HTTP unless the server switches.
	Upgrades bool
	Head     int // length of the HTTP head, where there is a whole one
}

// ReadHello reads the first bytes that a client sends.
func ReadHello(b []byte) Hello {
	switch {
	case len(b) == 0:
		return Hello{}
	case b[0] == 0x16: // a TLS handshake
		return readTLS(b)
	case mayBeHTTP(b):
		return readHTTP(b)
	}
	return Hello{Whole: true}
}

// readTLS reads a ClientHello (RFC 8446 §4.1.2) within one record.
func readTLS(b []byte) Hello {
	h := Hello{Protocol: "tls"}
	if len(b) < 5 || len(b) < 5+int(binary.BigEndian.Uint16(b[3:])) {
		h.Whole = len(b) >= MostHello
		return h
	}
	h.Whole = true
	c := cursor{b[5 : 5+int(binary.BigEndian.Uint16(b[3:]))]}
	if kind := c.take(1); kind == nil || kind[0] != 1 {
		return h
	}
	c.take(3)        // length
	c.take(2 + 32)   // version, random
	c.take(c.len(1)) // session id
	c.take(c.len(2)) // cipher suites
	c.take(c.len(1)) // compressions
	ext := cursor{c.take(c.len(2))}
	for len(ext.rest) > 0 {
		kind := ext.take(2)
		body := cursor{ext.take(ext.len(2))}
		if kind == nil || binary.BigEndian.Uint16(kind) != 0 { // server_name
			continue
		}
		names := cursor{body.take(body.len(2))}
		if t := names.take(1); t != nil && t[0] == 0 {
			h.Name = strings.TrimSuffix(strings.ToLower(string(names.take(names.len(2)))), ".")
		}
		return h
	}
	return h
}

// cursor reads a structure of lengths; past its end it gives nothing.
type cursor struct{ rest []byte }

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.rest = nil
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

// len reads a length of so many bytes.
func (c *cursor) len(bytes int) (n int) {
	b := c.take(bytes)
	if b == nil {
		return -1
	}
	for _, one := range b {
		n = n<<8 | int(one)
	}
	return n
}
