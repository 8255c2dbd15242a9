package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shelve puts a version of opencode into a folder of installed agents, as an
// installation leaves it, and makes it the one that new sessions get. Its program
// only waits: what runs is told from its command line.
func shelve(t *testing.T, folder, version string) {
	t.Helper()
	dir := filepath.Join(folder, "opencode", version, "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "opencode"), []byte("#!/bin/sh\nwhile :; do sleep 1000; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "opencode", "current")
	if err := os.Symlink(version, link+".next"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".next", link); err != nil {
		t.Fatal(err)
	}
}

// A session keeps the version of its agent that was installed when it was made:
// over a newer installation, a restart of the server and an attempt to remove it.
// What is installed while spares wait is there in the sandboxes made of them.
func TestAgentVersionStays(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "agents")
	s := startServer(t, "--agents", folder, "--pool", "1")
	_, _, err := s.client().HostedAgents.CreateSessionFromManifest(t.Context(), []byte("agent: opencode"), nil)
	wantRefusal(t, err, http.StatusBadRequest, "paddock agent install opencode")

	version := func(id string) string {
		out, said, code := s.cli("show", id, "-o", "json")
		var shown struct {
			Version string `json:"adapter_version"`
		}
		if err := json.Unmarshal([]byte(out), &shown); err != nil || code != 0 {
			t.Fatalf("%v %s%s", err, out, said)
		}
		return shown.Version
	}
	want := func(id, v string) {
		t.Helper()
		if got := version(id); got != v {
			t.Errorf("%s has version %q, want %s", id, got, v)
		}
		s.waitExec(id, "tr '\\0' ' ' < /proc/$(pgrep -n -f '^/bin/sh /opt/paddock/agents')/cmdline", "/bin/sh /opt/paddock/agents/opencode/"+v+"/bin/opencode acp ")
	}
	shelve(t, folder, "1.0.0")
	first := s.create("agent: opencode").SessionID
	want(first, "1.0.0")
	shelve(t, folder, "2.0.0")
	second := s.create("agent: opencode").SessionID
	want(second, "2.0.0")
	want(first, "1.0.0")
	s.kill()
	s.restart()
	want(first, "1.0.0")
	if a := s.get(first); a.AgentKind != "AGENT_KIND_OPENCODE" {
		t.Errorf("its kind is %s", a.AgentKind)
	}

	if out, said, code := s.cli("agent", "remove", "opencode@1.0.0"); code != 4 || !strings.Contains(said, "in use by session") {
		t.Errorf("%d %s%s", code, out, said)
	}
	s.remove(first)
	if out, said, code := s.cli("agent", "remove", "opencode@1.0.0"); code != 0 {
		t.Errorf("%d %s%s", code, out, said)
	}
	if out, _, _ := s.cli("agent", "list"); !strings.Contains(out, "2.0.0 (1 session)") || strings.Contains(out, "1.0.0") {
		t.Errorf("%s", out)
	}
}
