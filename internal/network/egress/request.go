package egress

import (
	"bytes"
	"net"
	"strings"
)

// mostLine is how long a request line may be to be taken for one.
const mostLine = 8 << 10

// mayBeHTTP says whether the bytes are, or may become, an HTTP request. Any
// method counts, for servers answer to any. Empty lines ahead of a request are
// skipped by servers (RFC 9112 §2.2), so they count as its beginning.
func mayBeHTTP(b []byte) bool {
	if b[0] == '\r' || b[0] == '\n' {
		return true
	}
	line, _, whole := bytes.Cut(b, []byte("\n"))
	method, rest, spaced := bytes.Cut(line, []byte(" "))
	if len(line) > mostLine || len(method) == 0 || !isToken(method) && (spaced || !isToken(bytes.TrimSuffix(method, []byte("\r")))) {
		return false
	}
	if !whole {
		return true
	}
	words := bytes.Fields(rest)
	return len(words) > 0 && bytes.HasPrefix(bytes.ToUpper(words[len(words)-1]), []byte("HTTP/")) ||
		len(words) == 1 && string(method) == "GET" // HTTP/0.9
}

// isToken says whether b is made of the letters of a method (RFC 9110 §5.6.2).
func isToken(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return true
}

// readHTTP reads the head of a request. One that names two hosts names none, nor
// does one that servers read in different ways.
func readHTTP(b []byte) Hello {
	h := Hello{Protocol: "http"}
	if b[0] == '\r' || b[0] == '\n' {
		h.Whole = true
		return h
	}
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		h.Whole = len(b) >= MostHello
		return h
	}
	h.Whole, h.Head = true, end+4
	lines := strings.Split(string(b[:end]), "\r\n")
	named := ""
	if words := strings.Fields(lines[0]); len(words) != 3 {
		return h
	} else if _, rest, absolute := strings.Cut(words[1], "://"); absolute {
		named, _, _ = strings.Cut(rest, "/")
	} else if words[0] == "CONNECT" {
		named = words[1]
	}
	body := false
	for i, line := range lines {
		if strings.ContainsAny(line, "\r\n\x00") || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			return h
		}
		if i == 0 {
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(strings.TrimSpace(key)) {
		case "host":
			if named != "" && !strings.EqualFold(HostOf(named), HostOf(value)) {
				return h
			}
			named = value
		case "upgrade":
			h.Upgrades = true
		case "content-length", "transfer-encoding":
			body = true
		}
	}
	h.Upgrades = h.Upgrades && !body
	h.Name = HostOf(named)
	return h
}

// HostOf gives the host that an authority (RFC 3986 §3.2) names, in lower case and
// without port and last dot.
func HostOf(text string) string {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	return strings.TrimSuffix(strings.ToLower(text), ".")
}

// Closing gives a request's bytes with a head that has the server close after
// its answer: what follows on the same connection could ask for another host
// and would not be looked at. A request that upgrades is left as it is.
func (h Hello) Closing(b []byte) []byte {
	if h.Upgrades || h.Head == 0 {
		return b
	}
	var out []byte
	lines := strings.SplitAfter(string(b[:h.Head-2]), "\r\n")
	for _, line := range lines {
		if key, _, ok := strings.Cut(line, ":"); ok {
			if key = strings.ToLower(strings.TrimSpace(key)); key == "connection" || key == "keep-alive" || key == "proxy-connection" {
				continue
			}
		}
		out = append(out, line...)
	}
	out = append(out, "Connection: close\r\n\r\n"...)
	return append(out, b[h.Head:]...)
}

// switched is how the answer of a server begins that changes to another protocol
// (RFC 9110 §15.2.2).
const switched = "HTTP/1.1 101"

// MostStatus is how many bytes of an answer Switches needs.
const MostStatus = len(switched)

// Switches says whether the first bytes of an answer change to another protocol.
func Switches(answer []byte) bool { return bytes.HasPrefix(answer, []byte(switched)) }
