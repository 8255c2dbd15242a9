package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"golang.org/x/sys/unix"

	"paddock/e2e/host"
)

// A sandbox that stands on the host and does nothing any more, as a broken one
// would, does not leave its session without a machine for ever: it is held for
// lost, and the session comes back with its saved files.
func TestHungSandboxComesBack(t *testing.T) {
	t.Parallel() // it waits for minutes
	s := startServer(t)
	sess := s.savedSession("agent: demo\n")
	for _, pid := range host.Processes(sess.SandboxID) {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	var refusal []byte // the public client would try again by itself
	s.call(http.MethodPost, "/sessions/"+sess.SessionID+"/sandbox/exec", map[string]any{"argv": []string{"true"}}, http.StatusBadGateway, &refusal)
	if !strings.Contains(string(refusal), "does not answer") {
		t.Errorf("the refusal is %s", refusal)
	}
	if s.extras(sess.SessionID).SandboxID != sess.SandboxID {
		t.Error("it was given up at once")
	}
	for late := time.After(5 * time.Minute); s.extras(sess.SessionID).SandboxID == sess.SandboxID; {
		select {
		case <-late:
			t.Fatalf("the session is %+v", s.extras(sess.SessionID))
		case <-time.After(time.Second):
		}
	}
	t.Logf("given up after %s", time.Since(began).Round(time.Second))
	s.wantBack(sess, "lost:unreachable")
	s.turn(sess.SessionID, "hello")
}

// Of a sandbox each process of the host is killed alone, in a sandbox of its own.
// Whatever that does inside, the session answers afterwards, with the same
// sandbox or with another one.
func TestPartsOfASandboxKilled(t *testing.T) {
	s := startServer(t)
	for n := 0; ; n++ {
		sess := s.savedSession("agent: demo\n")
		id := sess.SessionID
		tree := machineTree(sess.SandboxID)
		if n >= len(tree) {
			break
		}
		endProcess(tree[n])
		eventually(t, "the session answers", func() bool {
			out, _, err := s.client().HostedAgents.ExecInSandbox(context.Background(), id, &godo.HostedAgentSandboxExecRequest{Argv: []string{"echo", "alive"}})
			return err == nil && out.Stdout == "alive\n"
		})
		x := s.extras(id)
		if lost := x.SandboxID != sess.SandboxID; lost != (x.Memory == "lost:killed") || !lost && x.Memory != "kept" {
			t.Errorf("process %d of %d: memory is %q, another sandbox: %v", n, len(tree), x.Memory, lost)
		}
		s.waitExec(id, "cat link /tmp/too", "kept\ntmp\n") // a program that gets a killed process to run in is killed, too
		s.remove(id)
	}
}
