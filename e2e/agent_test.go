package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// A real agent that somebody else makes, pinned: what works must not stop
// working because of a release that is not ours.
const (
	copilotPackage = "@github/copilot"
	copilotVersion = "1.0.102"
)

// modelPort is where the scripted model listens, inside the sandbox.
const modelPort = "8901"

// installCopilot gives the folder of the agent's npm package, from a cache of
// this user's or fresh from the registry.
func installCopilot(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"npm", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed, so no real agent can be had", tool)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no cache folder: %v", err)
	}
	dir := filepath.Join(cache, "paddock-test", "copilot-"+copilotVersion)
	if _, err := os.Stat(filepath.Join(dir, "node_modules", copilotPackage)); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "install-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	if err := os.Chmod(fresh, 0o755); err != nil { // the agent's user has to read it
		t.Fatal(err)
	}
	out, err := exec.Command("npm", "install", "--prefix", fresh, "--no-audit", "--no-fund", "--loglevel=error", copilotPackage+"@"+copilotVersion).CombinedOutput()
	if err != nil {
		t.Skipf("npm cannot install the agent (%v): %s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRealAgent takes turns with GitHub Copilot's agent over ACP. Its model is
// played by a scripted server inside the same sandbox, so that no key and no
// network is needed; everything else is real.
func TestRealAgent(t *testing.T) {
	installed := installCopilot(t)
	s := startServer(t)
	agents := filepath.Join(s.dir, "agents", "copilot")
	if out, err := exec.Command("cp", "-a", "--reflink=auto", installed, agents).CombinedOutput(); err != nil {
		t.Fatalf("place the agent: %v %s", err, out)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(s.dir, "agents", "fakemodel"), "paddock/internal/fakemodel/paddock-fakemodel")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the scripted model: %v %s", err, out)
	}
	sess := s.create(`
agent: custom
command: [/opt/paddock/agents/copilot/node_modules/.bin/copilot, --acp]
size: medium
env:
  COPILOT_OFFLINE: "true"
  COPILOT_PROVIDER_BASE_URL: http://127.0.0.1:` + modelPort + `/v1
  COPILOT_PROVIDER_API_KEY: none-needed
  COPILOT_MODEL: scripted
`)
	id := sess.SessionID
	s.sh(id, "nohup /opt/paddock/agents/fakemodel -listen 127.0.0.1:"+modelPort+" >/tmp/model.log 2>&1 &")

	if got := s.turn(id, "hello there"); !strings.Contains(got, "reply 1: ") {
		t.Fatalf("the agent said %q\n%s", got, s.sh(id, "cat /tmp/model.log"))
	}
	run := s.send(id, "RUN: echo from the tool > proof.txt && echo it said so")
	answered := map[string]bool{}
	var end godo.HostedAgentEvent
	eventually(t, "the run with a tool call ended", func() bool {
		for _, e := range s.history(id) {
			switch {
			case e.RunID != run:
			case e.Kind == godo.HostedAgentEventKindHITLRequested:
				a := payload[asked](t, e)
				if answered[a.HITLID] {
					continue
				}
				answered[a.HITLID] = true
				if a.Action != "HITL_ACTION_BASH" || !strings.Contains(a.Details.Command, "from the tool") {
					t.Errorf("asked %+v", a)
				}
				if err := s.answer(id, a.HITLID, godo.HostedAgentHITLOutcomeApprove, nil); err != nil {
					t.Fatal(err)
				}
			case e.Kind == godo.HostedAgentEventKindRunCompleted || e.Kind == godo.HostedAgentEventKindRunFailed:
				end = e
				return true
			}
		}
		return false
	})
	if end.Kind != godo.HostedAgentEventKindRunCompleted || len(answered) == 0 {
		t.Fatalf("the run ended as %s %s after %d questions", end.Kind, end.Payload, len(answered))
	}
	if got := s.sh(id, "cat proof.txt"); got != "from the tool\n" {
		t.Errorf("proof.txt is %q", got)
	}
	events := s.history(id)
	assertLog(t, events)
	if n, m := count(events, run, godo.HostedAgentEventKindToolCallStarted), count(events, run, godo.HostedAgentEventKindToolCallCompleted); n == 0 || n != m {
		t.Errorf("%d tool calls started, %d completed", n, m)
	}
	raw := 0
	for _, e := range events {
		if e.RunID == run && len(e.SourceRaw) > 0 {
			raw++
		}
	}
	if raw == 0 {
		t.Error("no event carries the agent's own frame")
	}
	// A pause in between: the agent's memory goes along.
	pause(s, id)
	s.waitStatus(id, godo.HostedAgentSessionStatusPaused)
	if got := s.turn(id, "and again"); strings.Contains(got, "reply 1: ") || !strings.Contains(got, "reply ") {
		t.Errorf("after a pause the agent said %q", got)
	}
}
