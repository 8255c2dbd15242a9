package e2e

import (
	"strings"
	"testing"
	"time"
)

// An agent that runs as root is root inside, also to programs that leave their
// groups, and what it starts is still its own: a cancel ends all of it, however
// it hides, and nothing else.
func TestAgentAsRoot(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := s.createNoWait("agent: demo\nrun_as: root\npermissions: {default: allow}\n")
	if !strings.Contains(strings.Join(made.Warnings, "\n"), "run_as: root can undo") {
		t.Errorf("warnings: %q", made.Warnings)
	}
	id := made.SessionID
	sandbox := s.waitStatus(id, "SESSION_STATUS_READY").SandboxID
	s.turn(id, `run (id -u; echo $HOME; touch /usr/mine && echo wrote; chown 1000:1000 /usr/mine && stat -c '%u' /usr/mine;
		setpriv --reuid 1000 --regid 1000 --clear-groups id -u) > said`)
	if got := s.sh(id, "cat said"); got != "0\n/root\nwrote\n1000\n1000\n" {
		t.Errorf("as root: %q", got)
	}
	s.turn(id, "run sleep 92000 >/dev/null 2>&1 &")
	s.sh(id, "setsid sleep 92001 >/dev/null 2>&1 &")
	run := s.send(id, strings.Join([]string{
		`run setsid env -i /bin/sh -c 'trap "" TERM INT HUP QUIT; while :; do :; done' &`,
		`(setsid setpriv --reuid 1000 --regid 1000 --clear-groups sleep 92002 & ) ;`,
		`(setsid setpriv --clear-groups sh -c 'trap "" TERM; sleep 92003; sleep 92005' & ) ;`,
		`sleep 92004`,
	}, " "))
	hidden := []string{"sleep 92002", "sleep 92003", "sleep 92004"}
	for _, p := range hidden {
		s.waitProcesses(id, p, "1")
	}
	began := time.Now()
	if got := s.cancel(id, run); got != "acked" {
		t.Errorf("cancel: %s", got)
	}
	s.wantCancelled(id, run, began)
	for _, p := range append(hidden, "sleep 92005") {
		if n := s.sh(id, countProcesses(p)); n != "0\n" {
			t.Errorf("%s processes %q live after the end of their run", strings.TrimSpace(n), p)
		}
	}
	for _, p := range []string{"sleep 92000", "sleep 92001"} {
		if n := s.sh(id, countProcesses(p)); n != "1\n" {
			t.Errorf("%s processes %q, of before, live", strings.TrimSpace(n), p)
		}
	}
	if n := s.ticksOver(sandbox, time.Second); n > 15 {
		t.Errorf("after the cancel the machine burns %d ticks in a second", n)
	}
}

// permissions.filesystem binds an agent of root like any other.
func TestAgentAsRootIsKeptToItsFolders(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: demo\nrun_as: root\npermissions: {default: allow, filesystem: {mode: workspace, allow_write: [/opt/out]}}\n").SessionID
	s.turn(id, `run (id -u; touch /usr/mine 2>/dev/null || echo refused; mount -o remount,rw / 2>/dev/null || echo refused;
		unshare -m mount -o remount,rw,bind / 2>/dev/null || echo refused; touch /opt/out/x ~/x && echo ~) > said`)
	if got := s.sh(id, "cat said"); got != "0\nrefused\nrefused\nrefused\n/root\n" {
		t.Errorf("as root in its folders: %q", got)
	}
}

// Execs, those of root too, come through beside an agent of root that forks
// without end.
func TestExecsBesideAForkingRoot(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: demo\nrun_as: root\npermissions: {default: allow}\n").SessionID
	run := s.send(id, `run perl -e 'while(1){fork()}'`)
	s.waitExec(id, `[ $(ls -d /proc/[0-9]* | wc -l) -gt 150 ] && echo crowded`, "crowded\n")
	for range 3 {
		if code, out, errs := s.exec(id, "id", "-u"); code != 0 || out != "1000\n" {
			t.Errorf("an exec: %d %q %s", code, out, errs)
		}
	}
	var root execResult
	s.call("POST", "/sessions/"+id+"/sandbox/exec", map[string]any{"argv": []string{"id", "-u"}, "user": "root"}, 200, &root)
	if root.ExitCode != 0 || root.Stdout != "0\n" {
		t.Errorf("an exec of root: %+v", root)
	}
	began := time.Now()
	s.cancel(id, run)
	s.wantCancelled(id, run, began)
	if n := s.sh(id, countProcesses("perl -e while(1){fork()}")); n != "0\n" {
		t.Errorf("%s of them live after the end of their run", strings.TrimSpace(n))
	}
}
