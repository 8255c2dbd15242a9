package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/session"
)

// plenty is a host with room for everything.
func plenty() (Room, error) { return Room{Memory: 64 << 30, Disk: 64 << 30}, nil }

// newPooled is a house with a filled pool of that many spares.
func newPooled(t *testing.T, spares int) *house {
	h := newHouseWith(t, func(h *house) { h.pool, h.free = spares, plenty })
	h.waitSpares(min(spares, poolFloor))
	return h
}

func (h *house) waitSpares(n int) {
	h.t.Helper()
	eventually(h.t, "the pool is filled", func() bool { return h.Stats().Spares == n })
}

// ids are those of all machines there are.
func (d *stubDriver) ids() map[string]*stubMachine {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]*stubMachine{}
	for id, m := range d.machines {
		all[id] = m
	}
	return all
}

func (m *stubMachine) identity() sandbox.Identity {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owner
}

func TestCreateClaimsSpare(t *testing.T) {
	h := newPooled(t, 2)
	before := h.driver.ids()
	v := h.create("agent: demo\nname: Quiet.Otter\n")
	s := h.waitState(v.ID, session.Ready)
	m := before[s.Sandbox.String()]
	if m == nil {
		t.Fatalf("the session's sandbox %s is none of the spares", s.Sandbox)
	}
	if who := m.identity(); who != (sandbox.Identity{Session: v.ID.String(), Hostname: "quiet-otter"}) {
		t.Errorf("the machine was claimed for %+v", who)
	}
	events := h.history(v)
	if e := events[len(events)-1]; e.Kind != event.SessionUpdated || events[len(events)-2].Kind != event.SandboxAllocated {
		t.Errorf("the history ends with %s, %s", events[len(events)-2].Kind, e.Kind)
	}
	run := h.input(v, "one")
	if got := <-m.guest.prompts; got != run {
		t.Errorf("the guest got %s, want %s", got, run)
	}
	h.waitSpares(2) // filled again
	if list, _, err := h.Sessions(context.Background(), h.team, ListRequest{All: true}); err != nil || len(list) != 1 {
		t.Errorf("%d sessions, %v", len(list), err)
	}
}

// A spare that cannot be claimed is replaced by a machine of its own.
func TestBrokenSpare(t *testing.T) {
	for name, breaks := range map[string]func(*stubMachine){
		"claim fails": func(m *stubMachine) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.failClaim = errors.New("disk error")
		},
		"it ends": func(m *stubMachine) { m.end("killed") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newPooled(t, 1)
			spare := h.driver.only(t)
			breaks(spare)
			s := h.waitState(h.create("agent: demo\n").ID, session.Ready)
			if s.Sandbox.String() == spare.handle.ID {
				t.Error("the session has the broken spare")
			}
			eventually(t, "the broken spare is removed", func() bool { return h.driver.ids()[spare.handle.ID] == nil })
		})
	}
}

// A create that is refused leaves the spare to the next one.
func TestRefusedCreateGivesBack(t *testing.T) {
	h := newPooled(t, 1)
	h.create("agent: demo\nname: a\n")
	h.waitSpares(1)
	_, _, err := h.CreateSession(context.Background(), h.team, CreateRequest{Spec: []byte("agent: demo\nname: a\n")})
	wantFault(t, err, fault.Conflict, "in use")
	if s := h.Stats(); s.Spares != 1 || s.Starting != 0 {
		t.Errorf("%+v", s)
	}
}

// Spares end with their server, and what is found that no session owns, as after
// a crash, is removed. The machines of sessions live on.
func TestSparesEndWithServer(t *testing.T) {
	h := newPooled(t, 2)
	v := h.create("agent: demo\n")
	h.waitSpares(2)
	h.stop()
	own := h.driver.only(t).handle.ID
	left := id.New[id.Sandbox]().String()
	if _, err := h.driver.Start(context.Background(), sandbox.Handle{ID: left}, sandbox.Spec{}); err != nil {
		t.Fatal(err)
	}
	h.start()
	h.waitSpares(2)
	if all := h.driver.ids(); all[own] == nil || all[left] != nil || len(all) != 3 {
		t.Errorf("there are %d machines, the session's is %v, the stranger %v", len(all), all[own], all[left])
	}
	h.waitState(v.ID, session.Ready)
}

func TestAdmission(t *testing.T) {
	room := Room{Memory: 512<<20 + 2*startMemory, Disk: 2 << 30}
	h := newHouseWith(t, func(h *house) { h.free = func() (Room, error) { return room, nil } })
	refused := func(part string) {
		t.Helper()
		_, _, err := h.CreateSession(context.Background(), h.team, CreateRequest{Spec: []byte("agent: demo\n")})
		wantFault(t, err, fault.Unavailable, part)
		if fault.Of(err).RetryAfter <= 0 {
			t.Error("it does not say when to try again")
		}
	}
	h.driver.hang = make(chan struct{})
	hangs := h.driver.hang
	first, _, err := h.CreateSession(context.Background(), h.team, CreateRequest{Spec: []byte("agent: demo\n")})
	if err != nil {
		t.Fatal(err)
	}
	<-hangs
	room.Memory = 512<<20 + 2*startMemory - 1 // enough for one, not beside one that starts
	refused("this host has 571 MiB of memory free for new sessions; one needs about 60 MiB beside a reserve of 512 MiB;")
	if err := h.RemoveSession(context.Background(), h.team, first.ID.String()); err != nil {
		t.Fatal(err)
	}
	h.waitState(first.ID, session.Destroyed)
	h.create("agent: demo\n")
	eventually(t, "nothing is starting", func() bool { return h.Stats().Starting == 0 })
	room.Disk = 1 << 30
	refused("1024 MiB of disk free")
	// The limit of the team comes first: no waiting helps against it.
	room = Room{Memory: 64 << 30, Disk: 64 << 30}
	for range 4 {
		h.create("agent: demo\n")
	}
	eventually(t, "nothing is starting", func() bool { return h.Stats().Starting == 0 })
	room.Memory = 0
	_, _, err = h.CreateSession(context.Background(), h.team, CreateRequest{Spec: []byte("agent: demo\n")})
	wantFault(t, err, fault.Conflict, "limit of 5")
}

// Where memory is short, spares give way to sessions.
func TestSparesGiveWay(t *testing.T) {
	var short atomic.Bool
	h := newHouseWith(t, func(h *house) {
		h.pool = 3
		h.free = func() (Room, error) {
			if !short.Load() {
				return plenty()
			}
			// Every machine takes what one needs: there is room for three.
			return Room{Memory: 512<<20 + int64(3-len(h.driver.ids()))*startMemory, Disk: 64 << 30}, nil
		}
	})
	h.waitSpares(3)
	short.Store(true)
	v, _, err := h.CreateSession(context.Background(), h.team, CreateRequest{Spec: []byte("agent: demo\nsize: large\n")})
	if err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Ready)
	h.waitSpares(0)
}
