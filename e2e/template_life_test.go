package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// TestImageSurvivesTheServer: a server that is killed while it makes an image
// leaves no half of one, and the next one makes it; the session that waits for it
// gets it, and keeps it over every restart and a reboot.
func TestImageSurvivesTheServer(t *testing.T) {
	tool := buildTool(t)
	for _, step := range []string{"image.unpacked", "image.there"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel() // each has a server of its own
			address := loopbackRegistry(t, "team/tool:1", ociImage(t, tool))
			s := newServer(t, "--registry", address)
			s.env = []string{"PADDOCK_FAILPOINT=" + step}
			s.start()
			s.waitServing()
			agents, ctx := s.client().HostedAgents, context.Background()
			_, _, _ = agents.CreateSessionFromManifest(ctx, []byte("agent: demo\nname: victim\nimage: "+address+"/team/tool:1\n"), nil)
			<-s.done
			if got := s.images(); len(got) != 1 || strings.HasPrefix(got[0], "building-") != (step == "image.unpacked") {
				t.Errorf("a killed server has left %v", got)
			}
			s.restart()
			sess := s.waitStatus(s.get("victim").SessionID, godo.HostedAgentSessionStatusReady)
			if got := s.images(); len(got) != 1 || len(got[0]) != 64 {
				t.Errorf("the next one has %v", got)
			}
			id := sess.SessionID
			s.says(id, "/bin/tool", "write", "/workspace/note", "mine")
			before := time.Now()
			s.turn(id, "hello")
			s.waitSaved(id, before)

			if _, err := agents.PauseSession(ctx, id); err != nil {
				t.Fatal(err)
			}
			s.kill()
			s.restart()
			if got := s.get(id); got.Status != godo.HostedAgentSessionStatusPaused || got.SandboxID != sess.SandboxID {
				t.Errorf("after a restart it is %s with sandbox %s, it had %s", got.Status, got.SandboxID, sess.SandboxID)
			}
			list, _, err := agents.ListTemplates(ctx, nil)
			if err != nil || len(list.Templates) != 1 || list.Templates[0].Name != address+"/team/tool:1" {
				t.Fatalf("%+v, %v", list, err)
			}
			if _, answer, err := agents.DeleteTemplate(ctx, list.Templates[0].TemplateID); err == nil || answer.StatusCode != http.StatusConflict {
				t.Errorf("the template of a paused session is removed: %v", err)
			}
			if got := s.says(id, "tool", "env", "COLOUR"); got != "blue" {
				t.Errorf("the environment has the colour %q", got)
			}

			s.reboot()
			eventually(t, "it is back", func() bool {
				got := s.get(id)
				return got.Status == godo.HostedAgentSessionStatusReady && got.SandboxID != sess.SandboxID
			})
			for file, want := range map[string]string{"/etc/motd": "hello", "/workspace/note": "mine"} {
				if got := s.says(id, "/bin/tool", "cat", file); got != want {
					t.Errorf("after a reboot %s has %q", file, got)
				}
			}

			if _, err := agents.DestroySession(ctx, id); err != nil {
				t.Fatal(err)
			}
			s.waitStatus(id, godo.HostedAgentSessionStatusDestroyed)
			if _, _, err := agents.DeleteTemplate(ctx, list.Templates[0].TemplateID); err != nil {
				t.Error(err) // its environment names the reference, which can be had again
			}
			eventually(t, "no image is left", func() bool { return len(s.images()) == 0 })
		})
	}
}

// TestImageThatCannotBeHad: the session fails with the cause, its template says it,
// and the next session tries again.
func TestImageThatCannotBeHad(t *testing.T) {
	t.Parallel()
	address := loopbackRegistry(t, "team/other:1", ociImage(t, buildTool(t)))
	s := startServer(t, "--registry", address)
	agents, ctx := s.client().HostedAgents, context.Background()
	create := func(image string) *godo.HostedAgentSession {
		return s.createNoWait("agent: none\nimage: " + image + "\n")
	}
	missing := address + "/team/tool:1"
	lost := create(missing)
	eventually(t, "it has failed", func() bool { return s.get(lost.SessionID).Status == godo.HostedAgentSessionStatusFailed })
	if why := s.extras(lost.SessionID).Message; !strings.Contains(why, "there is no image "+missing) {
		t.Errorf("it has failed for %q", why)
	}
	pushImage(t, missing, ociImage(t, buildTool(t)))
	s.waitStatus(create(missing).SessionID, godo.HostedAgentSessionStatusReady)

	// What the operator has not named is out of reach on this host.
	hidden := loopbackRegistry(t, "team/tool:1", ociImage(t, buildTool(t)))
	refused := create(hidden + "/team/tool:1")
	eventually(t, "it has failed", func() bool { return s.get(refused.SessionID).Status == godo.HostedAgentSessionStatusFailed })
	if why := s.extras(refused.SessionID).Message; !strings.Contains(why, "cannot be reached") {
		t.Errorf("it has failed for %q", why)
	}
	// And no path of the server's machine is an image.
	for _, path := range []string{"/etc", "./x", "~/x"} {
		if _, _, err := agents.CreateSessionFromManifest(ctx, []byte("agent: none\nimage: "+path+"\n"), nil); err == nil || !strings.Contains(err.Error(), "is a path") {
			t.Errorf("image %s: %v", path, err)
		}
		if _, _, err := agents.CreateTemplate(ctx, &godo.HostedAgentTemplateCreateRequest{Name: "x", BaseTemplate: "x", SourceOCIRef: path}); err == nil {
			t.Errorf("a template of %s is made", path)
		}
	}
}
