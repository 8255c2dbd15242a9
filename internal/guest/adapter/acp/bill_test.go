package acp

import "testing"

// What a conversation cost is right whether a restarted agent goes on counting
// or begins anew, and is never taken back.
func TestBill(t *testing.T) {
	first, second, third := new(process), new(process), new(process)
	var b bill
	for i, c := range []struct {
		process    *process
		sum, delta int64
		total      int64
	}{
		{first, 0, 0, 0},
		{first, 100, 100, 100},
		{first, 100, 0, 100},
		{first, 99, 0, 100}, // rounded otherwise
		{first, 130, 30, 130},
		{second, 150, 20, 150}, // goes on with the conversation
		{third, 40, 40, 190},   // counts anew
		{third, 45, 5, 195},
	} {
		if delta := b.add(c.process, c.sum); delta != c.delta || b.total != c.total {
			t.Errorf("step %d: %d more, %d in all; want %d and %d", i, delta, b.total, c.delta, c.total)
		}
	}
}
