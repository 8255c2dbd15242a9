package engine

import (
	"context"
	"testing"

	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/session"
)

func (h *house) environment(name, spec string) environment.Environment {
	h.t.Helper()
	made, err := h.CreateEnvironment(context.Background(), h.team, EnvironmentRequest{Name: name, Spec: []byte(spec), By: "laptop"})
	if err != nil {
		h.t.Fatal(err)
	}
	return made.Environment
}

// The same recipe is stored once; a name finds its newest.
func TestEnvironmentsAreStoredOnce(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	first := h.environment("bot", "agent: demo\n")
	if again := h.environment("bot", "# the same\nagent: 'demo'\n"); again.ID != first.ID || again.CreatedBy != "laptop" {
		t.Errorf("the same again: %+v, first %+v", again, first)
	}
	if other := h.environment("other", "agent: demo\n"); other.ID == first.ID {
		t.Error("another name is the same environment")
	}
	second := h.environment("bot", "agent: none\n")
	for ref, want := range map[string]id.Environment{"bot": second.ID, first.ID.String(): first.ID} {
		if got, err := h.Environment(ctx, h.team, ref); err != nil || got.ID != want {
			t.Errorf("%s finds %s, %v; want %s", ref, got.ID, err, want)
		}
	}
	page, next, err := h.Environments(ctx, h.team, 2, "")
	if err != nil || len(page) != 2 || page[0].ID != second.ID || next == "" {
		t.Fatalf("%d environments, next %q, %v", len(page), next, err)
	}
	if page, next, err = h.Environments(ctx, h.team, 2, next); err != nil || len(page) != 1 || page[0].ID != first.ID || next != "" {
		t.Errorf("then %d environments, next %q, %v", len(page), next, err)
	}
}

// A spec that comes with a session makes an environment of its name, unless there
// is the same one of that name.
func TestSpecsBecomeEnvironments(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	one, two := h.create("agent: demo\nname: one\n"), h.create("agent: demo\nname: two\n")
	for name, v := range map[string]View{"one": one, "two": two} {
		if env, err := h.Environment(ctx, h.team, name); err != nil || env.ID != v.Environment || env.ContentHash == "" {
			t.Errorf("%s: %+v, %v", name, env, err)
		}
	}
	if err := h.RemoveSession(ctx, h.team, "one"); err != nil {
		t.Fatal(err)
	}
	h.waitState(one.ID, session.Destroyed)
	if again := h.create("agent: demo\nname: one\n"); again.Environment != one.Environment {
		t.Error("the same spec under the same name is stored twice")
	}
	list, _, err := h.Sessions(ctx, h.team, ListRequest{Environment: one.Environment, All: true})
	if err != nil || len(list) != 2 || list[0].Name != "one" || list[1].ID != one.ID {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestSessionsOfAnEnvironment(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	env := h.environment("bot", "agent: demo\nname: unused\n")
	v, _, err := h.CreateSession(ctx, h.team, CreateRequest{Environment: "bot", Name: "worker"})
	if err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Ready)
	if v.Name != "worker" || v.Environment != env.ID {
		t.Errorf("%+v", v.Session)
	}
	wantFault(t, h.RemoveEnvironment(ctx, h.team, "bot"), fault.Conflict, "session worker is made from environment bot")
	if err := h.RemoveSession(ctx, h.team, "worker"); err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Destroyed)
	if err := h.RemoveEnvironment(ctx, h.team, "bot"); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"bot", env.ID.String()} {
		_, err := h.Environment(ctx, h.team, ref)
		wantFault(t, err, fault.NotFound, "there is no environment")
		_, _, err = h.CreateSession(ctx, h.team, CreateRequest{Environment: ref, Name: "more"})
		wantFault(t, err, fault.NotFound, "there is no environment")
		wantFault(t, h.RemoveEnvironment(ctx, h.team, ref), fault.NotFound, "there is no environment")
	}
	if again := h.environment("bot", "agent: demo\n"); again.ID == env.ID {
		t.Error("what was removed is found again")
	}
}

func TestEnvironmentsAreRefused(t *testing.T) {
	h := newHouse(t)
	for name, c := range map[string]struct{ name, spec, part string }{
		"a bad name":   {"a b", "agent: demo", "name:"},
		"a bad spec":   {"a", "agent: dmo", "agent"},
		"a weak agent": {"a", "agent: custom\ncommand: [x]\npermissions: {rules: [{tool: bash, action: deny, enforcement: strict}]}", "is strict"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.CreateEnvironment(context.Background(), h.team, EnvironmentRequest{Name: c.name, Spec: []byte(c.spec)})
			wantFault(t, err, fault.BadRequest, c.part)
		})
	}
}
