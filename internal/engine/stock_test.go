package engine

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock/internal/sandbox"
)

var (
	small = kind{template: "host", size: sandbox.Size{Slug: "small"}}
	large = kind{template: "host", size: sandbox.Size{Slug: "large"}}
)

// settle does what the stock says until it rests, as a pool with no delays; it
// gives how many steps that took.
func settle(t interface{ Fatalf(string, ...any) }, s *stock, now time.Time, bound int) int {
	for n := 0; ; n++ {
		k, what := s.next(now, bound)
		switch what {
		case stepMake:
			s.shelf(k).spares = append(s.shelf(k).spares, &spare{kind: k})
		case stepEnd:
			s.shelf(k).spares = s.shelf(k).spares[1:]
		default:
			return n
		}
		if n > 1000 {
			t.Fatalf("the stock never rests: %s %v", what, k)
		}
	}
}

func (s *stock) have(k kind) int { return len(s.shelf(k).spares) }

func TestStock(t *testing.T) {
	const plenty, most = 100, poolFloor + 10
	s, now := newStock(small, most), time.Now()
	settle(t, s, now, plenty)
	if s.have(small) != poolFloor {
		t.Errorf("%d spares at first, want %d", s.have(small), poolFloor)
	}
	for range poolFloor + 6 { // a burst
		s.take(small, now)
	}
	settle(t, s, now, plenty)
	if want := poolFloor + 6; s.have(small) != want {
		t.Errorf("%d spares after a burst, want %d", s.have(small), want)
	}
	if sp := s.take(large, now.Add(time.Second)); sp != nil {
		t.Error("a large spare before anybody asked for one")
	}
	settle(t, s, now, plenty)
	if s.have(large) != 1 {
		t.Errorf("%d large spares after the first use, want 1", s.have(large))
	}
	for range 4 * most {
		s.take(small, now.Add(2*time.Second))
	}
	settle(t, s, now, plenty)
	if s.have(small)+s.have(large) != most {
		t.Errorf("%d and %d spares, want %d in all", s.have(small), s.have(large), most)
	}
	for range 3 { // to a full stock, kinds that are asked for come in
		s.take(large, now.Add(3*time.Second))
	}
	settle(t, s, now, plenty)
	if s.have(large) < 2 || s.count() > most {
		t.Errorf("%d large ones of %d", s.have(large), s.count())
	}
	if settle(t, s, now, 5); s.count() != 5 {
		t.Errorf("%d spares where there is room for 5", s.count())
	}
	for range 10 {
		now = now.Add(poolRest + time.Minute)
		settle(t, s, now, plenty)
	}
	if s.have(small) != poolFloor || len(s.shelves) != 1 {
		t.Errorf("after a long rest there are %d of %d kinds", s.have(small), len(s.shelves))
	}
	if settle(t, s, now, 0); s.count() != 0 {
		t.Errorf("%d spares without room", s.count())
	}
}

// Whatever is asked for, the stock comes to rest within its bounds, and does not
// make what it then ends.
func TestStockRests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 20).Draw(t, "max")
		s, now := newStock(small, most), time.Unix(1e9, 0)
		kinds := []kind{small, large, {template: "other"}}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				s.take(rapid.SampledFrom(kinds).Draw(t, "kind"), now)
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 900).Draw(t, "seconds")) * time.Second)
			},
			"die": func(t *rapid.T) {
				if sh := s.shelf(rapid.SampledFrom(kinds).Draw(t, "kind")); len(sh.spares) > 0 && !s.remove(sh.spares[0]) {
					t.Fatal("a spare of the stock is not in it")
				}
			},
			"settle": func(t *rapid.T) {
				bound := rapid.IntRange(0, 25).Draw(t, "bound")
				settle(t, s, now, bound)
				if n := s.count(); n > min(bound, most) {
					t.Fatalf("%d spares, bound %d, max %d", n, bound, most)
				}
				if n := settle(t, s, now, bound); n > 0 {
					t.Fatalf("%d more steps of a stock at rest", n)
				}
			},
		})
	})
}
