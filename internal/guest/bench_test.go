package guest_test

import (
	"testing"

	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// BenchmarkExec is one exec of a program that does nothing, over the connection.
func BenchmarkExec(b *testing.B) {
	m := newMachine(b)
	request := guestapi.ExecRequest{Argv: []string{"/bin/true"}, Timeout: patience}
	for b.Loop() {
		key := id.New[id.Exec]()
		p, err := m.guest().StartExec(b.Context(), key, request, patience)
		if err != nil || !p.Done() {
			b.Fatalf("%+v %v", p, err)
		}
		if err := m.guest().EndExec(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}
