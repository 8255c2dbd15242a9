package sqlstore

import (
	"path/filepath"
	"testing"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

// TestPlacesBeyondTheBitsOfAnID finds events of a team that has more of them
// than an id has bits for.
func TestPlacesBeyondTheBitsOfAnID(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), databaseName))
	session := benchSessions(t, s, 1)[0]
	owner, err := s.SessionByID(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	var events []event.Event
	for _, end := range []int64{0, 1<<30 - 2, 5<<30 + 7} {
		err := s.Update(t.Context(), func(x store.Tx) error {
			if _, err := x.(*tx).write("UPDATE teams SET last_place = $1", end); err != nil {
				return err
			}
			more, err := x.Append(session, owner.CreatedAt, make([]event.Draft, 3)...)
			events = append(events, more...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range events {
		if place, err := s.EventPlace(t.Context(), owner.Team, e.ID); err != nil || place != e.Place {
			t.Errorf("event at %d: found at %d, %v", e.Place, place, err)
		}
	}
	if id.EventTail(events[1].ID) == id.EventTail(events[2].ID) {
		t.Error("neighbours have one tail")
	}
}
