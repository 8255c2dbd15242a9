package gateway

import (
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
)

func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flows")
	l, lost, err := openLedger(path, 4, true)
	if err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	of := func(n uint16) tuple { return tuple{n, netip.MustParseAddrPort("203.0.113.9:443")} }
	var slots []int
	for n := range uint16(4) {
		slot, ok := l.add(of(n + 1))
		if !ok {
			t.Fatalf("no slot for connection %d of 4", n+1)
		}
		slots = append(slots, slot)
	}
	if _, ok := l.add(of(9)); ok {
		t.Error("five connections in four slots")
	}
	l.remove(slots[1])

	// The process dies here; its file is as it was.
	again, lost, err := openLedger(path, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(lost, func(a, b tuple) int { return int(a.port) - int(b.port) })
	if want := []tuple{of(1), of(3), of(4)}; !slices.Equal(lost, want) {
		t.Errorf("lost: %v, want %v", lost, want)
	}
	again.forget()
	if slot, ok := again.add(of(7)); !ok {
		t.Error("no slot after a restart")
	} else {
		again.forget()
		if got, used := again.read(slot); !used || got != of(7) {
			t.Errorf("an open connection was forgotten: %v", got)
		}
	}
	for _, one := range []*ledger{l, again} {
		if err := one.close(); err != nil {
			t.Error(err)
		}
	}
	if _, lost, _ := openLedger(path, 4, true); len(lost) > 0 {
		t.Errorf("a fresh machine has connections: %v", lost)
	}
}
