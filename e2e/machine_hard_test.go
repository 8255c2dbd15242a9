package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// hardRoom is how long a small exec may take beside an agent that does its worst.
// It takes about 4 s here, and took more than a minute before the guest made room.
const hardRoom = 30 * time.Second

// Execs come through beside an agent that forks without end: in a turn, and in
// processes that outlive it. A cancelled turn takes all of it along.
func TestExecBesideAForkBomb(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\npermissions:\n  default: allow\n").SessionID
	const byHand = "sleep 8001" // stopped by hand: it stays so
	s.waitRun(id, s.send(id, "run "+byHand+" > /dev/null 2>&1 < /dev/null &"))
	s.waitProcesses(id, byHand, "1")
	s.sh(id, "pkill -STOP -xf '"+byHand+"'")
	for name, bomb := range map[string]string{
		"that fails and tries again": `perl -e 'while(1){fork()}'`,
		"of short lives":             `perl -e 'fork() for 1..6; while(1){ $p=fork(); if(defined $p && !$p){exit 0} waitpid(-1,1)}'`,
	} {
		t.Run(name, func(t *testing.T) {
			run := s.send(id, "run "+bomb)
			s.crowded(id)
			for range 3 {
				began := time.Now()
				if code, out, errs := s.exec(id, "echo", "through"); code != 0 || out != "through\n" {
					t.Errorf("exec: %d %q %q", code, out, errs)
				}
				took := time.Since(began)
				if took > hardRoom {
					t.Errorf("the exec took %s", took)
				}
				t.Logf("an exec took %s", took)
			}
			s.cancel(id, run)
			s.waitRun(id, run)
			s.waitExec(id, "grep -lx perl /proc/[0-9]*/comm 2>/dev/null | wc -l", "0\n")
		})
	}
	if got := s.sh(id, "cut -d' ' -f3 /proc/$(pgrep -xf '"+byHand+"')/stat"); got != "T\n" {
		t.Errorf("what was stopped by hand is in state %q", got)
	}
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 4: ") {
		t.Errorf("the agent said %q", got)
	}
}

// crowded waits until the machine has very many processes.
func (s *server) crowded(id string) {
	s.t.Helper()
	eventually(s.t, "the machine is crowded", func() bool {
		_, out, _ := s.exec(id, "sh", "-c", "ls /proc | grep -c '^[0-9]'")
		return len(strings.TrimSpace(out)) >= 3 // 100 and more
	})
}

// A turn that is cancelled takes along what left its session, its parent and its
// signals behind; what an earlier turn left stays.
func TestCancelReachesEveryProcess(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\npermissions:\n  default: allow\n").SessionID
	s.waitRun(id, s.send(id, "run setsid sleep 7001 > /dev/null 2>&1 < /dev/null &"))
	run := s.send(id, `run setsid sh -c 'trap "" TERM INT HUP; sleep 7002; sleep 7002' & (setsid sleep 7003 &) ; sleep 7004`)
	s.waitProcesses(id, "sleep 7004", "1")
	s.waitProcesses(id, "sleep 7003", "1")
	began := time.Now()
	s.cancel(id, run)
	if end := s.waitRun(id, run); end.Kind != godo.HostedAgentEventKindRunFailed {
		t.Errorf("the run ended as %s", end.Kind)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the cancel took %s", took)
	}
	for seconds, n := range map[string]string{"7001": "1", "7002": "0", "7003": "0", "7004": "0"} {
		s.waitProcesses(id, "sleep "+seconds, n)
	}
}

// An agent that is killed between turns is back at the next, with its
// conversation; its kill reaches nothing else.
func TestAgentKillsAllItMay(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	s.turn(id, "hello")
	for _, user := range []string{"agent", "root"} {
		s.execWith(id, map[string]any{"argv": []string{"sh", "-c", "kill -9 -1"}, "user": user})
		s.sh(id, "true")
	}
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 2: ") {
		t.Errorf("the agent said %q", got)
	}
	if code, _, _ := s.exec(id, "sh", "-c", "kill -9 1 || kill -STOP 1"); code == 0 {
		t.Error("the agent can signal the guest")
	}
	s.sh(id, "true")
}

// Root inside may stop the guest: it is let go on, and calls are answered.
func TestRootStopsTheGuest(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	for range 2 {
		began := time.Now()
		if r, _ := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", "kill -STOP 1; echo on"}, "user": "root"}); r.ExitCode != 0 || r.Stdout != "on\n" {
			t.Errorf("%+v", r)
		}
		s.sh(id, "true")
		if took := time.Since(began); took > hardRoom/3 {
			t.Errorf("the guest was silent for %s", took)
		}
	}
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 1: ") {
		t.Errorf("the agent said %q", got)
	}
}

// Processes of root that fork without end leave the guest room for others' execs.
func TestExecBesideAForkBombOfRoot(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: none\n").SessionID
	root := func(line string) { s.execWith(id, map[string]any{"argv": []string{"sh", "-c", line}, "user": "root"}) }
	root(`perl -e '$e = time + 60; fork() while time < $e' > /dev/null 2>&1 &`)
	s.crowded(id)
	for _, user := range []string{"agent", "root"} {
		began := time.Now()
		if r, _ := s.execWith(id, map[string]any{"argv": []string{"echo", "through"}, "user": user}); r.ExitCode != 0 || r.Stdout != "through\n" {
			t.Errorf("%s: %+v", user, r)
		}
		t.Logf("an exec of %s took %s", user, time.Since(began))
	}
	root("kill -9 -1")
	s.waitExec(id, "grep -lx perl /proc/[0-9]*/comm 2>/dev/null | wc -l", "0\n")
}

// Root inside may end the machine: the session fails and says why, and nothing
// of it stays.
func TestRootEndsTheMachine(t *testing.T) {
	s := startServer(t)
	sess := s.create("agent: none\n")
	s.call(http.MethodPost, "/sessions/"+sess.SessionID+"/sandbox/exec",
		map[string]any{"argv": []string{"sh", "-c", "kill -9 1; sleep 60"}, "user": "root"}, http.StatusBadGateway, nil)
	eventually(t, "the session failed", func() bool { return s.get(sess.SessionID).Status == godo.HostedAgentSessionStatusFailed })
	eventually(t, "the host is free of it", func() bool {
		return len(host.Processes(sess.SandboxID)) == 0 && len(host.Cgroups(sess.SandboxID)) == 0 && len(host.Names(s.dir, sess.SandboxID)) == 0
	})
	if _, _, err := s.client().HostedAgents.ExecInSandbox(context.Background(), sess.SessionID, &godo.HostedAgentSandboxExecRequest{Argv: []string{"true"}}); err == nil {
		t.Error("an exec in a failed session succeeds")
	}
}

// Root inside knows the way to the host's socket and may read the secret. As
// long as the guest is connected, that gives it nothing, however often it calls.
func TestImpostorsAtTheControlSocket(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	const flood = `
import socket, sys
secret = open('/run/paddock/control/secret').read().strip()
held, refused = [], 0
hellos = [b'\n', b'garbage\n', b'{}\n', b'\xff' * 100000, b'{"version":1,"oldest":1,"secret":"wrong"}\n',
          ('{"version":1,"oldest":1,"secret":"%s"}\n' % secret).encode(), b'']
for i in range(700):
    c = socket.socket(socket.AF_UNIX)
    c.settimeout(20)
    try:
        c.connect('/run/paddock/control/host.sock')
        c.send(hellos[i % len(hellos)])
    except OSError:
        refused += 1
    held.append(c)
for i, c in enumerate(held):
    if i % len(hellos) == 5:
        try:
            b = c.recv(4096)
            if b and b'error' not in b: print('WELCOME', b)
        except OSError: pass
print('done')
`
	r, _ := s.execWith(id, map[string]any{"argv": []string{"python3", "-c", flood}, "user": "root", "timeout_seconds": 120})
	if r.Stdout != "done\n" {
		t.Errorf("%+v", r)
	}
	s.sh(id, "true")
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 1: ") {
		t.Errorf("the agent said %q", got)
	}
	s.kill()
	s.restart() // the guest has to come in again
	s.sh(id, "true")
}
