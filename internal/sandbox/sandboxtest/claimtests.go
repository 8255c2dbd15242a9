package sandboxtest

import (
	"fmt"
	"strings"
	"testing"

	"paddock/internal/id"
	"paddock/internal/sandbox"
)

// identity is what the machine's agent reads: session, hostname and machine-id,
// each quoted.
func (g *Guest) identity() []string {
	g.t.Helper()
	text, _ := g.Run(1000, "self", "read", sandbox.IdentityMount+"/session-id", sandbox.IdentityMount+"/hostname", sandbox.IdentityMount+"/machine-id")
	return strings.Split(strings.TrimSpace(text), "\n")
}

// nobodys is a new machine's that has no owner yet.
func (h Harness) nobodys() sandbox.Spec {
	spec := h.spec()
	spec.Session = ""
	return spec
}

func newIdentity() sandbox.Identity {
	return sandbox.Identity{Session: id.New[id.Session]().String(), Hostname: "brisk-heron"}
}

func claim(t *testing.T, h Harness) {
	m := h.start(t, h.Open(t), h.nobodys())
	g := Accept(t, m)
	before := g.identity()
	if before[0] != `""` {
		t.Errorf("a machine of nobody is of session %s", before[0])
	}
	who := newIdentity()
	for range 2 { // again is no error
		if err := m.Claim(t.Context(), who, sandbox.Egress{}, nil); err != nil {
			t.Fatalf("claim: %v", err)
		}
	}
	want := []string{fmt.Sprintf("%q", who.Session+"\n"), fmt.Sprintf("%q", who.Hostname+"\n"), before[2]}
	if have := g.identity(); fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("identity %q, want %q", have, want)
	}
	if output, code := g.Run(0, "self", "rename", who.Hostname); code != 0 {
		t.Errorf("the guest cannot set the hostname: %s", output)
	}
	if name, _ := g.Run(1000, "self", "hostname"); name != who.Hostname+"\n" {
		t.Errorf("hostname %q, want %q", name, who.Hostname)
	}
	for _, other := range []sandbox.Identity{newIdentity(), {}, {Session: who.Session}} {
		if err := m.Claim(t.Context(), other, sandbox.Egress{}, nil); err == nil {
			t.Errorf("claimed for %+v", other)
		}
	}
	if have := g.identity(); fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("after refused claims the identity is %q", have)
	}

	owned := h.start(t, h.Open(t), h.spec())
	if err := owned.Claim(t.Context(), who, sandbox.Egress{}, nil); err == nil {
		t.Error("a machine with an owner was claimed by another")
	}
}

func claimRecovered(t *testing.T, h Harness) {
	spec, d := h.nobodys(), h.Open(t)
	handle, err := d.Plan(spec)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	h.destroyLater(t, d, handle)
	h.Crash(t, spec, h.Steps[len(h.Steps)-1], true) // which pauses it
	m, err := d.Recover(t.Context(), handle, nil)
	if err != nil {
		t.Fatalf("recover: %v", err)
	}
	t.Cleanup(func() { m.Close() })
	who := newIdentity()
	if err := m.Claim(t.Context(), who, sandbox.Egress{}, nil); err != nil {
		t.Errorf("claim: %v", err)
	}
	if err := m.Resume(t.Context()); err != nil {
		t.Fatalf("resume: %v", err)
	}
	if have := Accept(t, m).identity(); have[0] != fmt.Sprintf("%q", who.Session+"\n") {
		t.Errorf("identity %q, want session %s", have, who.Session)
	}
	if err := d.Destroy(t.Context(), handle); err != nil {
		t.Fatalf("destroy: %v", err)
	}
	wantGone(t, "claim", m.Claim(t.Context(), who, sandbox.Egress{}, nil))
}
