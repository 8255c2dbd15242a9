package guest

import (
	"slices"
	"testing"
	"time"
)

// A guest calls again soon at first, and seldom in the end.
func TestRedialPause(t *testing.T) {
	var got []time.Duration
	for n := range 6 {
		got = append(got, redialPause(n))
	}
	ms := time.Millisecond
	if want := []time.Duration{150 * ms, 300 * ms, 600 * ms, 1200 * ms, 2000 * ms, 2000 * ms}; !slices.Equal(got, want) {
		t.Errorf("pauses %v, want %v", got, want)
	}
	if got := redialPause(1 << 40); got != redialLast {
		t.Errorf("after very many failures %v", got)
	}
}
