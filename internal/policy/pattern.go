package policy

import "math/bits"

// pattern is a glob as a machine that reads a text rune by rune. At each moment
// it is at a set of places: before its first part, before its second, … or
// behind its last.
type pattern struct {
	end     int // the place behind the last part
	literal map[rune]places
	kinds   [4]places // of each kind the places that parts of it stand at
}

type partKind int

const (
	anyText   partKind = iota // **, and * where slashes mean nothing
	anyRune                   // ? where slashes mean nothing
	inName                    // * of a path
	oneInName                 // ? of a path
)

// places is a set of numbers below 256.
type places [4]uint64

func (s *places) add(n int)     { s[n/64] |= 1 << (n % 64) }
func (s places) has(n int) bool { return s[n/64]&(1<<(n%64)) != 0 }
func (s places) empty() bool    { return s == places{} }

func (s places) and(t places) (u places) {
	for i := range s {
		u[i] = s[i] & t[i]
	}
	return u
}

func (s places) or(t places) (u places) {
	for i := range s {
		u[i] = s[i] | t[i]
	}
	return u
}

// next has each number's successor.
func (s places) next() (u places) {
	carry := uint64(0)
	for i := range s {
		u[i] = s[i]<<1 | carry
		carry = s[i] >> 63
	}
	return u
}

// from has the least number and all above it up to end.
func (s places) from(end int) (u places) {
	for i := range s {
		if s[i] != 0 {
			for n := i*64 + bits.TrailingZeros64(s[i]); n <= end; n++ {
				u.add(n)
			}
			break
		}
	}
	return u
}

// compile reads a glob, giving * and ? the kinds that they have in it.
func compile(from string, star, question partKind) pattern {
	p := pattern{literal: map[rune]places{}}
	runes := []rune(from)
	stars := 0 // that were just read: the next ones add nothing
	for i := 0; i < len(runes) && p.end < 250; i++ {
		r := runes[i]
		if r == '*' {
			if stars++; stars > 1 {
				if p.kinds[star].has(p.end - 1) { // ** crosses names
					p.kinds[star][(p.end-1)/64] &^= 1 << ((p.end - 1) % 64)
				}
				p.kinds[anyText].add(p.end - 1)
				continue
			}
			p.kinds[star].add(p.end)
			p.end++
			continue
		}
		stars = 0
		if r == '\\' && i+1 < len(runes) {
			i++
			r = runes[i]
		} else if r == '?' {
			p.kinds[question].add(p.end)
			p.end++
			continue
		}
		at := p.literal[r]
		at.add(p.end)
		p.literal[r] = at
		p.end++
	}
	return p
}

// fits reads a text twice at once: with gaps that only anyText takes (what fits
// then fits surely), and with gaps that become whatever fits.
func (p *pattern) fits(t text) fit {
	var start places
	start.add(0)
	start = p.through(start)
	sure, may := start, start
	for _, r := range t {
		before := sure
		sure = p.step(sure, r)
		switch {
		case r == gap:
			may = may.from(p.end)
		case may == before: // as long as there was no gap
			may = sure
		default:
			may = p.step(may, r)
		}
		if may.empty() {
			return never
		}
	}
	switch {
	case sure.has(p.end):
		return surely
	case may.has(p.end):
		return maybe
	}
	return never
}

// step gives the places after a rune; of a gap only anyText is certain.
func (p *pattern) step(s places, r rune) places {
	stay, move := p.kinds[anyText], places{}
	if r != gap {
		move = p.literal[r].or(p.kinds[anyRune])
	}
	if r != gap && r != '/' {
		stay, move = stay.or(p.kinds[inName]), move.or(p.kinds[oneInName])
	}
	return p.through(s.and(stay).or(s.and(move).next()))
}

// through adds the places behind stars, which may stand for nothing. No two
// stars stand side by side.
func (p *pattern) through(s places) places {
	return s.or(s.and(p.kinds[anyText].or(p.kinds[inName])).next())
}
