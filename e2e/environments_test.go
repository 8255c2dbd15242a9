package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/digitalocean/godo"
)

// Environments by the public client: stored once, used by sessions, kept from
// removal by them, and there again after a crash.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ctx := context.Background()
	create := func(name, spec string) *godo.HostedEnvironment {
		t.Helper()
		env, _, err := s.client().HostedAgents.CreateEnvironment(ctx, &godo.HostedEnvironmentCreateRequest{Name: name, ManifestYAML: spec})
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	first := create("bot", "agent: none\nenv: {COLOUR: blue}\n")
	if again := create("bot", "env: {COLOUR: 'blue'}\nagent: none # the same\n"); again.ID != first.ID {
		t.Errorf("the same is stored twice: %s and %s", first.ID, again.ID)
	}
	other := create("bot", "agent: none\nenv: {COLOUR: red}\n")
	s.kill()
	s.restart()
	for _, c := range []struct{ id, session, colour string }{{first.ID, "one", "blue"}, {other.ID, "two", "red"}} {
		made, _, err := s.client().HostedAgents.CreateSessionFromEnvironment(ctx, &godo.HostedAgentSessionFromEnvironmentRequest{Name: c.session, ConfigID: c.id})
		if err != nil {
			t.Fatal(err)
		}
		s.waitStatus(made.SessionID, godo.HostedAgentSessionStatusReady)
		if got := s.sh(made.SessionID, "echo $COLOUR"); got != c.colour+"\n" {
			t.Errorf("%s has the colour %q", c.session, got)
		}
		var spec struct{ Env map[string]string }
		env, _, err := s.client().HostedAgents.GetEnvironment(ctx, made.ConfigID)
		if err != nil || json.Unmarshal(env.Manifest, &spec) != nil || spec.Env["COLOUR"] != c.colour {
			t.Errorf("%+v, %v", env, err)
		}
	}
	inline := s.create("agent: none\nname: three\nenv: {COLOUR: red}\n")
	if env, _, err := s.client().HostedAgents.GetEnvironment(ctx, inline.ConfigID); err != nil || env.Name != "three" || env.ContentHash != other.ContentHash {
		t.Errorf("a session's spec became %+v, %v", env, err)
	}
	of, _, err := s.client().HostedAgents.ListEnvironmentSessions(ctx, other.ID, nil)
	if err != nil || len(of.Sessions) != 1 || of.Sessions[0].Name != "two" {
		t.Errorf("%+v, %v", of, err)
	}
	if answer, err := s.client().HostedAgents.DeleteEnvironment(ctx, first.ID); err == nil || answer.StatusCode != http.StatusConflict {
		t.Errorf("removal while a session lives: %v", err)
	}
	if _, err := s.client().HostedAgents.DestroySession(ctx, "one"); err != nil {
		t.Fatal(err)
	}
	s.waitStatus(s.get("one").SessionID, godo.HostedAgentSessionStatusDestroyed)
	if _, err := s.client().HostedAgents.DeleteEnvironment(ctx, first.ID); err != nil {
		t.Error(err)
	}
	list, _, err := s.client().HostedAgents.ListEnvironments(ctx, &godo.HostedEnvironmentListOptions{PageSize: 10})
	if err != nil || len(list.Configs) != 2 || list.Configs[0].ID != inline.ConfigID || list.Configs[1].ID != other.ID {
		t.Errorf("%+v, %v", list, err)
	}
}
