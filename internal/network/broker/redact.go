package broker

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// pair is a text that is replaced by another.
type pair struct{ from, to []byte }

// pairs are what is replaced at once, the longest first.
type pairs []pair

// add adds a pair unless there is one for the text.
func (p *pairs) add(from, to string) {
	same := func(one pair) bool { return string(one.from) == from }
	if from == to || slices.ContainsFunc(*p, same) {
		return
	}
	at, _ := slices.BinarySearchFunc(*p, len(from), func(one pair, length int) int { return length - len(one.from) })
	*p = slices.Insert(*p, at, pair{[]byte(from), []byte(to)})
}

// longest is the length of the longest text that is replaced.
func (p pairs) longest() int {
	if len(p) == 0 {
		return 0
	}
	return len(p[0].from)
}

// keepLength says whether every text is as long as what replaces it.
func (p pairs) keepLength() bool {
	return !slices.ContainsFunc(p, func(one pair) bool { return len(one.from) != len(one.to) })
}

// text replaces in a short text.
func (p pairs) text(s string) string {
	for _, one := range p {
		s = strings.ReplaceAll(s, string(one.from), string(one.to))
	}
	return s
}

// header replaces in the values of a header.
func (p pairs) header(h http.Header) {
	for _, values := range h {
		for i, v := range values {
			values[i] = p.text(v)
		}
	}
}

// search finds the texts of some pairs, many bytes at a step (Wu and Manber, "A
// fast algorithm for multi-pattern searching", 1994): where two bytes stand that
// are far from the end of every text's beginning, or in none, no text ends soon.
type search struct {
	pairs pairs
	least int            // length of the shortest text
	skip  [1 << 16]uint8 // by two bytes, how many bytes further the shortest text can end at the soonest
}

// mostSkip is what fits into a byte.
const mostSkip = 255

func (p pairs) search() *search {
	f := &search{pairs: p, least: len(p[len(p)-1].from)}
	f.skip[0] = uint8(min(f.least-1, mostSkip))
	for done := 1; done < len(f.skip); done *= 2 {
		copy(f.skip[done:], f.skip[:done])
	}
	for _, one := range p {
		for end := 2; end <= f.least; end++ {
			at := &f.skip[two(one.from, end)]
			*at = min(*at, uint8(min(f.least-end, mostSkip)))
		}
	}
	return f
}

// two is the two bytes before an end, as a number.
func two(b []byte, end int) int { return int(b[end-2])<<8 | int(b[end-1]) }

// next gives where a text begins in data first, the longest of those there.
func (f *search) next(data []byte) (at int, found pair, ok bool) {
	for end := f.least; end <= len(data); {
		if skip := f.skip[two(data, end)]; skip > 0 {
			end += int(skip)
			continue
		}
		at = end - f.least
		for _, one := range f.pairs {
			if bytes.HasPrefix(data[at:], one.from) {
				return at, one, true
			}
		}
		end++
	}
	return 0, pair{}, false
}

// all appends data to out with everything replaced that is whole in it, and says
// how many bytes of data that was; the rest may be the beginning of more.
func (f *search) all(out, data []byte, last bool) ([]byte, int) {
	done := 0
	for {
		at, found, ok := f.next(data[done:])
		// What began before it and may go on is waited for: it has this in it.
		if !ok || !last && len(data)-f.pairs.begun(data[done:]) <= done+at {
			break
		}
		out = append(append(out, data[done:done+at]...), found.to...)
		done += at + len(found.from)
	}
	end := len(data)
	if !last {
		end -= f.pairs.begun(data[done:])
	}
	return append(out, data[done:end]...), end
}

// begun is how many of the last bytes of data are the beginning of a text.
func (p pairs) begun(data []byte) (most int) {
	for _, one := range p {
		for n := min(len(one.from)-1, len(data)); n > most; n-- {
			if tail := data[len(data)-n:]; tail[0] == one.from[0] && bytes.HasPrefix(one.from, tail) {
				most = n
				break
			}
		}
	}
	return most
}

// redactBuffer is how many bytes of an answer are looked at together.
const redactBuffer = 64 << 10

// redacted is the body of an answer with everything replaced. What has come is
// passed on at once, but for bytes at its end that a text begins with.
type redacted struct {
	search *search
	source io.ReadCloser
	atEnd  func() // called once, when the source has ended

	in   []byte // its first held bytes have come and were not passed on
	held int
	out  []byte // still to be read
	room []byte // what out is part of
	err  error
}

func (p pairs) body(source io.ReadCloser, atEnd func()) io.ReadCloser {
	return &redacted{search: p.search(), source: source, atEnd: atEnd, in: make([]byte, redactBuffer+p.longest())}
}

// Read is part of io.Reader.
func (r *redacted) Read(b []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.source.Read(r.in[r.held:])
		data := r.in[:r.held+n]
		if r.err = err; err == io.EOF {
			r.atEnd()
		}
		var done int
		r.room, done = r.search.all(r.room[:0], data, err != nil)
		r.out = r.room
		r.held = copy(r.in, data[done:])
	}
	n := copy(b, r.out)
	r.out = r.out[n:]
	return n, nil
}

// Close is part of io.Closer.
func (r *redacted) Close() error { return r.source.Close() }
