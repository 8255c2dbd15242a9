package e2e

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/escape.sh
var escapes string

const confined = "agent: demo\nname: %s\npermissions: {default: allow, filesystem: %s}\n"

// asRoot runs a shell line as root in the session's machine.
func (s *server) asRoot(id, line string) {
	s.t.Helper()
	if got, _ := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", line}, "user": "root"}); got.ExitCode != 0 {
		s.t.Fatalf("%s: %d %s%s", line, got.ExitCode, got.Stdout, got.Stderr)
	}
}

// runs has the agent run a shell line and gives what it says of it.
func (s *server) runs(id, line string) string {
	s.t.Helper()
	return s.turn(id, "run "+line)
}

// wantReadOnly asserts that the agent cannot write a file, in words of the
// kernel's, and that a person can.
func (s *server) wantReadOnly(id, path string) {
	s.t.Helper()
	if got := s.runs(id, "touch "+path); !strings.HasPrefix(got, "exit code 1\n") || !strings.Contains(got, "Read-only file system") {
		s.t.Errorf("touch %s: %s", path, got)
	}
	if got := s.turn(id, "write "+path+" x"); !strings.Contains(got, "read-only file system") {
		s.t.Errorf("write %s: %s", path, got)
	}
	s.sh(id, "test ! -e "+path+" && touch "+path+" && rm "+path)
}

// wantWritable asserts that the agent can write files.
func (s *server) wantWritable(id string, paths ...string) {
	s.t.Helper()
	if got := s.runs(id, "touch "+strings.Join(paths, " ")); got != "exit code 0\n" {
		s.t.Errorf("touch %s: %s", paths, got)
	}
	s.sh(id, "ls "+strings.Join(paths, " "))
}

// restartAgent ends the agent between two runs; the next one starts it again.
func (s *server) restartAgent(id string) {
	s.t.Helper()
	s.sh(id, `for p in /proc/[0-9]*; do [ "$(tr '\0' ' ' <$p/cmdline)" = "/opt/paddock/bin/paddock-demo-agent " ] && kill -9 ${p#/proc/}; done; true`)
	s.waitProcesses(id, "/opt/paddock/bin/paddock-demo-agent", "0")
}

// notWritable are the warnings about paths that the agent cannot write in.
func (s *server) notWritable(id string) (messages []string) {
	for _, e := range s.history(id) {
		if e.Kind == "run.log" && strings.Contains(string(e.Payload), `"not_writable"`) {
			messages = append(messages, string(e.Payload))
		}
	}
	return messages
}

// An agent that may write in its workspace writes there and where its spec says,
// and finds no other way; people write everywhere. It stays so when the agent,
// and when the sandbox, has died.
func TestAgentIsKeptToItsFolders(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	sess := s.create(fmt.Sprintf(confined, "kept", "{mode: workspace-write, allowWrite: [out/made, /srv/open, ~/.cache/x]}"))
	id := sess.SessionID
	s.asRoot(id, "mkdir /srv/shut /srv/open; echo kept >/srv/shut/kept; chown -R agent /srv/shut /srv/open")
	s.wantReadOnly(id, "/srv/shut/a")
	s.wantReadOnly(id, "/srv/open/a") // it was not there when the agent was started
	s.wantWritable(id, "a", "out/made/a", "/home/agent/.cache/x/a", "/tmp/a", "/var/tmp/a", "/dev/shm/a")
	if got := s.runs(id, "stat -c %U:%G / /etc/passwd a /srv/shut out/made"); got != "exit code 0\nroot:root\nroot:root\nagent:agent\nagent:root\nagent:agent\n" {
		t.Errorf("owners: %s", got)
	}
	if got := s.notWritable(id); len(got) != 1 || !strings.Contains(got[0], "/srv/open does not exist, and is not in a folder of the agent's") {
		t.Errorf("warnings: %q", got)
	}

	s.sh(id, "cd /srv/shut && setsid sleep 92000 5>>kept >/dev/null 2>&1 </dev/null &")
	s.waitProcesses(id, "sleep 92000", "1")
	outside := strings.TrimSpace(s.sh(id, "pgrep -fx 'sleep 92000'"))
	s.sh(id, "cat >escape.sh <<'END'\n"+escapes+"END")
	if got := s.runs(id, "sh escape.sh "+outside); got != "exit code 0\ntried 21\n" {
		t.Errorf("a way out: %s", got)
	}
	if got := s.sh(id, "ls /srv/shut; cat /srv/shut/kept; ls hard 2>&1 | grep -c cannot"); got != "kept\nkept\n1\n" {
		t.Errorf("/srv/shut: %q", got)
	}

	// What works in every session works here.
	s.turn(id, "run sleep 92001 >/dev/null 2>&1 &")
	run := s.send(id, "run setsid sleep 92002 & sleep 92003")
	s.waitProcesses(id, "sleep 92002", "1")
	began := time.Now()
	s.cancel(id, run)
	s.wantCancelled(id, run, began)
	s.waitProcesses(id, "sleep 92002", "0")
	s.waitProcesses(id, "sleep 92001", "1")
	pauseAndResume(s, id)
	s.wantReadOnly(id, "/srv/shut/a")

	s.restartAgent(id)
	s.wantWritable(id, "/srv/open/a") // now it is there
	s.wantReadOnly(id, "/srv/shut/a")
	s.waitProcesses(id, "sleep 92001", "1")

	before := time.Now()
	s.turn(id, "hello")
	s.waitSaved(id, before)
	killMachine(t, sess.SandboxID)
	eventually(t, "the session is back", func() bool {
		x := s.extras(id)
		return x.Status == "SESSION_STATUS_READY" && x.SandboxID != sess.SandboxID
	})
	s.wantWritable(id, "/srv/open/a", "out/made/a")
	s.wantReadOnly(id, "/srv/shut/a")
	s.removeAll()
}

// A read-only agent writes in /tmp and where its spec says; the way there cannot
// be turned, also not for its next start. It may be a spare's.
func TestReadOnlyAgent(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--pool", "1")
	spare := s.waitSpares(1)
	sess := s.create(fmt.Sprintf(confined, "reads", "{mode: read-only, allow_write: [out, /tmp/x/y]}"))
	if sess.SandboxID != spare[0] {
		t.Errorf("sandbox %s is not the spare %s", sess.SandboxID, spare)
	}
	id := sess.SessionID
	s.wantReadOnly(id, "/workspace/a")
	s.wantReadOnly(id, "/home/agent/a")
	s.wantReadOnly(id, "/var/tmp/a")
	s.wantWritable(id, "out/a", "/tmp/a", "/tmp/x/y/a", "/dev/shm/a")
	for _, line := range []string{"mv out other", "rmdir out", "mkdir sub", "ln out/a b", "chmod 700 .", "rm -rf /workspace/."} {
		if got := s.runs(id, line); strings.HasPrefix(got, "exit code 0") {
			t.Errorf("%s: %s", line, got)
		}
	}
	s.runs(id, "mv /tmp/x /tmp/z; mkdir /tmp/x; ln -s /workspace /tmp/x/y")
	s.restartAgent(id)
	s.wantReadOnly(id, "/workspace/a")
	s.wantWritable(id, "out/a")
	if got := s.notWritable(id); len(got) != 1 || !strings.Contains(got[0], "/tmp/x/y is a link that the agent itself can turn") {
		t.Errorf("warnings: %q", got)
	}
}

// Of the files the sandbox takes care, so every agent keeps it; a spec that asks
// for what is not so is refused.
func TestFilesystemVerdicts(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, agent := range []string{"demo", "custom\ncommand: [sleep]"} {
		var v struct {
			OK         bool
			Filesystem struct {
				Mode, Verdict string
				AllowWrite    []string `json:"allow_write"`
			}
		}
		spec := "agent: " + agent + "\npermissions: {filesystem: {mode: read_only, allow_write: [out]}}\n"
		s.call("POST", "/sessions/policy/validate", map[string]string{"manifest_yaml": spec}, 200, &v)
		if f := v.Filesystem; !v.OK || f.Mode != "read-only" || f.Verdict != "exact" || strings.Join(f.AllowWrite, " ") != "out" {
			t.Errorf("%s: %+v", agent, v)
		}
	}
	for filesystem, want := range map[string]string{
		"{allow_write: [out]}":                         "line 2: permissions.filesystem.allow_write: has no effect with mode: unrestricted",
		"{mode: workspce}":                             "did you mean workspace?",
		"{mode: read-only, allow_write: ['src/*.go']}": `"src/*.go" looks like a pattern; write a folder, everything in it is meant`,
	} {
		_, _, err := s.client().HostedAgents.CreateSessionFromManifest(t.Context(), []byte("agent: demo\npermissions: {filesystem: "+filesystem+"}\n"), nil)
		wantRefusal(t, err, 400, want)
	}
}
