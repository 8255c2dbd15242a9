package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// A server is replaced by one of another build while sessions are in all states:
// nothing that they do is lost, and each keeps the guest it was made with.
func TestUpgrade(t *testing.T) {
	t.Run("other gVisor", func(t *testing.T) {
		s := newServer(t)
		s.program = buildWithOtherGuest(t)
		u := liveThroughUpgrade(s, s.stop, func() { pretendOtherGVisor(t, s.dir) })
		u.assertDrivenByKept()
		u.assertPruned()
	})
	t.Run("older guest and schema", func(t *testing.T) {
		s := newServer(t)
		s.program = buildOfCommit(t, "1b16630253f93f4f0bcf912ebfd66db5eaaed603")
		older := s.program
		s.pool = "" // an option that it does not know
		u := liveThroughUpgrade(s, s.kill, func() {})
		s.refusesDowngrade(older)
		u.assertPruned()
	})
}

// upgraded is a server after its upgrade.
type upgraded struct {
	*server
	old          string // runtime of the sessions made before
	older, newer string // a session made before, and one made after
}

// liveThroughUpgrade makes sessions under the server's first build, ends it,
// starts the build under test and goes on with each session.
func liveThroughUpgrade(s *server, end, between func()) upgraded {
	t := s.t
	s.start()
	s.waitServing()
	counting, running := s.create("agent: demo\n"), s.create("agent: demo\n")
	paused, asking := s.create("agent: demo\n"), s.create("agent: demo\n")
	all := []*godo.HostedAgentSession{counting, running, paused, asking}

	pids := map[string]string{}
	for _, sess := range []*godo.HostedAgentSession{counting, paused} {
		s.turn(sess.SessionID, "hello")
		pids[sess.SessionID] = s.count(sess.SessionID)
	}
	pause(s, paused.SessionID)
	ask := s.send(asking.SessionID, "run echo hello > made.txt")
	question := s.waitAsk(asking.SessionID, ask)
	execEnded := make(chan struct{})
	go func() { // its answer is lost with the server, what it does is not
		defer close(execEnded)
		s.poke("POST", "/sessions/"+counting.SessionID+"/sandbox/exec", `{"argv":["sh","-c","touch exec.begun; sleep 3; echo done > exec.txt"]}`)
	}()
	s.waitExec(counting.SessionID, "test -e exec.begun && echo yes", "yes\n")
	run := s.send(running.SessionID, "slow 30")
	s.waitEvent(running.SessionID, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk
	})
	old := runtimeOf(t, counting.SandboxID)
	roots := map[string][]int{}
	for _, sess := range all {
		roots[sess.SandboxID] = machineRoots(sess.SandboxID)
	}

	end()
	between()
	s.program, s.pool = program, spares()
	s.restart()
	<-execEnded

	for _, sess := range all {
		if got := machineRoots(sess.SandboxID); len(got) != 2 || !slices.Equal(got, roots[sess.SandboxID]) {
			t.Errorf("kernel and gofer of %s were %v, are %v", sess.SandboxID, roots[sess.SandboxID], got)
		}
	}
	if got := s.get(paused.SessionID); got.Status != godo.HostedAgentSessionStatusPaused {
		t.Errorf("the paused session is %s", got.Status)
	}
	if ticks := s.ticksOver(paused.SandboxID, time.Second); ticks > 5 {
		t.Errorf("the paused machine used %d ticks", ticks)
	}
	for _, sess := range []*godo.HostedAgentSession{counting, paused} { // the call wakes the paused one
		s.assertCounts(sess.SessionID, pids[sess.SessionID])
		if got := s.turn(sess.SessionID, "hello"); !strings.HasPrefix(got, "turn 2: ") {
			t.Errorf("the turn after: %q", got)
		}
	}
	s.waitExec(counting.SessionID, "cat exec.txt", "done\n")
	if err := s.answer(asking.SessionID, question.HITLID, godo.HostedAgentHITLOutcomeApprove, nil); err != nil {
		t.Fatal(err)
	}
	s.waitRun(asking.SessionID, ask)
	if got := s.sh(asking.SessionID, "cat made.txt"); got != "hello\n" {
		t.Errorf("made.txt is %q", got)
	}
	if e := s.waitRun(running.SessionID, run); e.Kind != godo.HostedAgentEventKindRunCompleted {
		t.Errorf("the run ended as %s %s", e.Kind, e.Payload)
	}
	if got, want := s.said(running.SessionID, run), "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 "; !strings.HasPrefix(got, want) {
		t.Errorf("the agent said %q", got)
	}
	// Freeze and thaw once more, all of it under the new build.
	pauseAndResume(s, counting.SessionID)
	s.assertCounts(counting.SessionID, pids[counting.SessionID])

	fresh := s.create("agent: demo\n")
	if got := s.turn(fresh.SessionID, "hello"); !strings.HasPrefix(got, "turn 1: ") {
		t.Errorf("the turn of a new session: %q", got)
	}
	if now := runtimeOf(t, fresh.SandboxID); now == old {
		t.Error("a new session has the guest of the older build")
	}
	if now := runtimeOf(t, counting.SandboxID); now != old {
		t.Errorf("the guest of an older session was %s, is %s", old, now)
	}
	for _, sess := range append(all, fresh) {
		assertLog(t, s.history(sess.SessionID))
	}
	return upgraded{s, old, counting.SessionID, fresh.SessionID}
}

// machineRoots gives a machine's kernel and gofer: those of its processes that
// are no child of another one.
func machineRoots(sandbox string) (roots []int) {
	all := host.Processes(sandbox)
	for _, pid := range all {
		if !slices.ContainsFunc(all, func(other int) bool { return other != pid && slices.Contains(host.Tree(other), pid) }) {
			roots = append(roots, pid)
		}
	}
	slices.Sort(roots)
	return roots
}

// count starts a process that counts in a file and returns its pid.
func (s *server) count(id string) string {
	s.t.Helper()
	s.sh(id, `nohup sh -c 'i=0; while :; do i=$((i+1)); echo $i > n.new; mv n.new n; sleep 0.05; done' >/dev/null 2>&1 & echo $! > count.pid`)
	s.waitExec(id, "test -s n && echo yes", "yes\n")
	return strings.TrimSpace(s.sh(id, "cat count.pid"))
}

// assertCounts asserts that the process of count goes on.
func (s *server) assertCounts(id, pid string) {
	s.t.Helper()
	s.sh(id, "kill -0 "+pid)
	first, err := strconv.Atoi(strings.TrimSpace(s.sh(id, "cat n")))
	if err != nil || first == 0 {
		s.t.Fatalf("counted to %d, %v", first, err)
	}
	eventually(s.t, "it counts on", func() bool {
		n, err := strconv.Atoi(strings.TrimSpace(s.sh(id, "cat n")))
		return err == nil && n > first
	})
}

// runtimeOf gives the digest of the runtime that a machine sees at
// /opt/paddock/bin, by the mounts of its file server.
func runtimeOf(t *testing.T, sandbox string) string {
	t.Helper()
	for _, pid := range host.Processes(sandbox) {
		table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
		for line := range strings.Lines(string(table)) {
			_, rest, ok := strings.Cut(line, "/runtimes/")
			if ok && strings.Contains(line, "/opt/paddock/bin ") {
				return strings.FieldsFunc(rest, func(r rune) bool { return r == '/' || r == ' ' })[0]
			}
		}
	}
	t.Fatalf("no process of %s has a runtime mounted", sandbox)
	return ""
}

// assertDrivenByKept asserts that the machines made before are driven by the
// program that made them: when that is not what it was, they are given up, and
// their sessions come back with files alone; the others live on.
func (u upgraded) assertDrivenByKept() {
	u.t.Helper()
	kept, was := filepath.Join(u.dir, "runtimes", u.old, "paddock"), u.get(u.older).SandboxID
	u.stop()
	content, err := os.ReadFile(kept)
	if err == nil {
		err = os.Remove(kept)
	}
	if err == nil {
		err = os.WriteFile(kept, append(content, 0), 0o755)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	u.restart()
	eventually(u.t, "without the program that made it the session has only its files", func() bool {
		x := u.extras(u.older)
		return x.Status == "SESSION_STATUS_READY" && x.SandboxID != was && strings.HasPrefix(x.Memory, "lost:")
	})
	u.waitGone(was)
	if got := u.turn(u.older, "hello"); !strings.HasPrefix(got, "turn ") {
		u.t.Errorf("the turn of the older session: %q", got)
	}
	if got := u.turn(u.newer, "hello"); !strings.HasPrefix(got, "turn 2: ") {
		u.t.Errorf("the turn of the newer session: %q", got)
	}
}

// assertPruned removes all sessions and asserts that the next start removes the
// older build, and only that.
func (u upgraded) assertPruned() {
	u.t.Helper()
	u.removeAll()
	u.stop()
	u.restart()
	kept, err := os.ReadDir(filepath.Join(u.dir, "runtimes"))
	if err != nil || len(kept) != 1 || kept[0].Name() == u.old {
		u.t.Errorf("kept runtimes: %v, %v", kept, err)
	}
}

// pretendOtherGVisor writes into the manifests of all kept builds that they have
// another gVisor than the build under test.
func pretendOtherGVisor(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "runtimes", "*", "manifest.json"))
	if len(files) == 0 {
		t.Fatal("there is no manifest")
	}
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var manifest map[string]any
		if err := json.Unmarshal(doc, &manifest); err != nil {
			t.Fatal(err)
		}
		manifest["gvisor"] = "v0.0.0-of-another-day"
		if doc, err = json.Marshal(manifest); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// refusesDowngrade starts an older build on data that a newer one has migrated:
// one sentence, and nothing is touched.
func (s *server) refusesDowngrade(older string) {
	t := s.t
	t.Helper()
	s.stop()
	machines := func() []int { return machineRoots(s.dir + "/sandboxes/") }
	before := machines()
	said := len(s.log.String())
	s.program, s.pool = older, ""
	s.start()
	select {
	case <-s.done:
	case <-t.Context().Done():
	}
	text := s.log.String()[said:]
	if code := s.cmd.ProcessState.ExitCode(); code == 0 || !strings.Contains(text, "start the newer version that wrote it") {
		t.Errorf("the older build exits with %d and says %s", code, text)
	}
	s.program, s.pool = program, spares()
	s.restart()
	if after := machines(); len(before) == 0 || !slices.Equal(before, after) {
		t.Errorf("sandbox processes were %v, are %v", before, after)
	}
	list, _, err := s.client().HostedAgents.ListSessions(context.Background(), nil)
	if err != nil || len(list.Sessions) != 5 {
		t.Errorf("sessions after: %+v, %v", list, err)
	}
}
