package engine

import (
	"testing"

	"paddock/internal/fault"
	"paddock/internal/id"
)

func TestPageTokens(t *testing.T) {
	last := id.New[id.Session]()
	list := pagesOf("sessions", "team", []string{"a"})
	if got, err := list.last(list.token(last)); err != nil || got != last.String() {
		t.Errorf("the token gives %q %v", got, err)
	}
	for _, other := range []pages{pagesOf(), pagesOf("sessions", "team"), pagesOf("sessions", "team", []string{"b"}), pagesOf("runs", "team", []string{"a"}), pagesOf("sessions", "team", []string{"a"}, "")} {
		if _, err := other.last(list.token(last)); !fault.Is(err, fault.BadRequest) {
			t.Errorf("another list took the token: %v", err)
		}
	}
}

// A token that a list takes is one that it gave.
func FuzzPageToken(f *testing.F) {
	list := pagesOf("sessions", "team")
	f.Add(list.token(id.New[id.Session]()))
	f.Add(pagesOf("runs").token(id.New[id.Run]()))
	f.Add("")
	f.Add("sess_01h455vb4pex5vsknk084sn02q")
	f.Fuzz(func(t *testing.T, token string) {
		last, err := list.last(token)
		if err == nil && list.token(text(last)) != token || err != nil && !fault.Is(err, fault.BadRequest) {
			t.Fatalf("%q gave %q %v", token, last, err)
		}
	})
}

type text string

func (t text) String() string { return string(t) }
