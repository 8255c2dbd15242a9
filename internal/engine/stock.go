package engine

import (
	"time"

	"paddock/internal/sandbox"
)

const (
	// poolFloor is how many spares of the standard kind are kept before anybody
	// has asked for more, where memory allows: a team's script that starts one
	// session for each of its members finds them.
	poolFloor = 20
	// poolRest is how long a kind of spare has to be unused to be kept less of.
	poolRest = 10 * time.Minute
)

// kind is what makes two spares the same to a create.
type kind struct {
	template string
	size     sandbox.Size
}

// stock decides how many spares of which kind there are to be. It knows no
// machines and no clock but what it is told.
type stock struct {
	floor   int // of the standard kind
	max     int // of all kinds together
	shelves map[kind]*shelf
}

// shelf is the stock of one kind.
type shelf struct {
	spares []*spare // ready, the oldest first
	making int
	least  int // it is never wanted less
	want   int
	used   time.Time // a create last asked for one, or less was wanted last
}

func newStock(standard kind, most int) *stock {
	floor := min(poolFloor, most)
	return &stock{floor: floor, max: most, shelves: map[kind]*shelf{standard: {least: floor, want: floor}}}
}

func (s *stock) shelf(k kind) *shelf {
	sh := s.shelves[k]
	if sh == nil {
		sh = &shelf{}
		s.shelves[k] = sh
	}
	return sh
}

// take gives the oldest spare of a kind, nil when there is none: then one more is
// wanted from now on.
func (s *stock) take(k kind, now time.Time) *spare {
	sh := s.shelf(k)
	sh.used = now
	if len(sh.spares) == 0 {
		sh.want = min(sh.want+1, s.max)
		return nil
	}
	sp := sh.spares[0]
	sh.spares = sh.spares[1:]
	return sp
}

// remove takes a spare out of the stock; false when it is not there.
func (s *stock) remove(sp *spare) bool {
	sh := s.shelf(sp.kind)
	for i, have := range sh.spares {
		if have == sp {
			sh.spares = append(sh.spares[:i:i], sh.spares[i+1:]...)
			return true
		}
	}
	return false
}

// count is how many spares there are, those being made included.
func (s *stock) count() (n int) {
	for _, sh := range s.shelves {
		n += len(sh.spares) + sh.making
	}
	return n
}

// The steps that bring the stock nearer to what is wanted.
type step string

const (
	stepNone step = ""
	stepMake step = "make" // a spare of the kind
	stepEnd  step = "end"  // the oldest spare of the kind
)

// next says what to do, where bound is how many spares the host has room for.
// For a kind that is asked for, the kind that was asked for longest ago makes
// room.
func (s *stock) next(now time.Time, bound int) (kind, step) {
	bound = min(bound, s.max)
	s.relax(now)
	for k, sh := range s.shelves {
		if len(sh.spares) > sh.want {
			return k, stepEnd
		}
	}
	have := s.count()
	if have > bound {
		if k, ok := s.stalest(time.Time{}); ok {
			return k, stepEnd
		}
		return kind{}, stepNone
	}
	k, ok := s.neediest()
	switch {
	case !ok:
		return kind{}, stepNone
	case have < bound:
		return k, stepMake
	}
	if old, ok := s.stalest(s.shelf(k).used); ok && old != k {
		s.shelf(old).want--
		return old, stepEnd
	}
	return kind{}, stepNone
}

// relax wants less of the kinds that nobody has asked for in a while. Once the
// others are gone, the one that is always wanted is wanted as at first.
func (s *stock) relax(now time.Time) {
	for k, sh := range s.shelves {
		if sh.want > sh.least && now.Sub(sh.used) >= poolRest {
			sh.want = sh.least + (sh.want-sh.least)/2
			sh.used = now
		}
		if sh.want == 0 && sh.least == 0 && sh.making == 0 && len(sh.spares) == 0 && now.Sub(sh.used) >= poolRest {
			delete(s.shelves, k)
		}
	}
	if len(s.shelves) == 1 {
		for _, sh := range s.shelves {
			sh.want = max(sh.want, sh.least)
		}
	}
}

// neediest is the kind, last asked for, of which more are wanted.
func (s *stock) neediest() (best kind, ok bool) {
	for k, sh := range s.shelves {
		if len(sh.spares)+sh.making < sh.want && (!ok || sh.used.After(s.shelves[best].used)) {
			best, ok = k, true
		}
	}
	return best, ok
}

// stalest is the kind with spares that nobody has asked for for the longest time,
// and not since a moment, where one is given.
func (s *stock) stalest(before time.Time) (worst kind, ok bool) {
	for k, sh := range s.shelves {
		if len(sh.spares) > 0 && (before.IsZero() || sh.used.Before(before)) && (!ok || sh.used.Before(s.shelves[worst].used)) {
			worst, ok = k, true
		}
	}
	return worst, ok
}
