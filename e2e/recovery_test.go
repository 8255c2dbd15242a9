package e2e

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"golang.org/x/sys/unix"

	"paddock/e2e/host"
)

// extras are the fields of a session that the public client does not know.
type extras struct {
	Status        string
	Memory        string
	Message       string
	AcceptsInput  bool      `json:"accepts_input"`
	RestoredTo    time.Time `json:"restored_to"`
	RecoveryPoint *struct {
		At    time.Time
		Bytes int64
	} `json:"recovery_point"`
	SandboxID string `json:"sandbox_id"`
}

func (s *server) extras(id string) extras {
	s.t.Helper()
	var out struct{ Session extras }
	s.call(http.MethodGet, "/sessions/"+id, nil, http.StatusOK, &out)
	return out.Session
}

// waitSaved waits until the session's files were saved after a moment.
func (s *server) waitSaved(id string, after time.Time) {
	s.t.Helper()
	eventually(s.t, "the files of "+id+" are saved", func() bool {
		x := s.extras(id)
		return x.RecoveryPoint != nil && x.RecoveryPoint.At.After(after)
	})
}

// savedSession makes a session whose agent has written a file, and of which the
// rest was written before its files were saved.
func (s *server) savedSession(spec string) *godo.HostedAgentSession {
	s.t.Helper()
	sess := s.create(spec)
	s.sh(sess.SessionID, "mkdir -p deep/er && echo kept > deep/er/file && ln -s deep/er/file link && chmod 640 deep/er/file && echo tmp > /tmp/too")
	before := time.Now()
	s.turn(sess.SessionID, "hello")
	s.waitSaved(sess.SessionID, before)
	return sess
}

// wantBack waits until the session is ready with another sandbox, and asserts
// from inside that its saved files are there and from the host that its old
// sandbox is not.
func (s *server) wantBack(sess *godo.HostedAgentSession, memory string) {
	s.t.Helper()
	id := sess.SessionID
	eventually(s.t, id+" is back", func() bool {
		x := s.extras(id)
		return x.Status == "SESSION_STATUS_READY" && x.SandboxID != sess.SandboxID
	})
	s.wantFiles(id)
	if x := s.extras(id); x.Memory != memory || x.RestoredTo.IsZero() {
		s.t.Errorf("memory is %q, restored to %s; want %q", x.Memory, x.RestoredTo, memory)
	}
	eventually(s.t, "nothing is left of the old sandbox", func() bool {
		return len(host.Processes(sess.SandboxID))+len(host.Mounts(sess.SandboxID))+len(host.Cgroups(sess.SandboxID)) == 0
	})
	s.assertGone(sess.SandboxID)
	assertLog(s.t, s.history(id))
}

func (s *server) wantFiles(id string) {
	s.t.Helper()
	if got, want := s.sh(id, "cat link /tmp/too; stat -c %a:%U deep/er/file; ls -l link | cut -c1"), "kept\ntmp\n640:agent\nl\n"; got != want {
		s.t.Errorf("inside there is %q, want %q", got, want)
	}
}

// A sandbox that is killed between runs is replaced by one with its files, and
// the conversation goes on.
func TestKilledSandboxComesBack(t *testing.T) {
	s := startServer(t)
	sess := s.savedSession("agent: demo\n")
	id := sess.SessionID
	s.sh(id, "echo later > not-saved")
	killMachine(t, sess.SandboxID)
	s.wantBack(sess, "lost:killed")
	if got := s.sh(id, "ls"); strings.Contains(got, "not-saved") {
		t.Errorf("what came after the save is there: %q", got)
	}
	if text := s.turn(id, "hello"); !strings.HasPrefix(text, "turn ") {
		t.Errorf("the agent said %q", text)
	}
}

// One that is killed in a run comes back for its files; its conversation has
// ended.
func TestKilledInARunComesBackTerminal(t *testing.T) {
	s := startServer(t)
	sess := s.savedSession("agent: demo\n")
	id := sess.SessionID
	run := s.send(id, "slow 100")
	s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk
	})
	killMachine(t, sess.SandboxID)
	if f := payload[failed](t, s.waitRun(id, run)); f.Code != 4 || !f.Terminal {
		t.Errorf("the run failed with %+v", f)
	}
	s.wantBack(sess, "lost:killed")
	if s.extras(id).AcceptsInput {
		t.Error("it says that it accepts input")
	}
	_, _, err := s.client().HostedAgents.SendInput(context.Background(), id, &godo.HostedAgentSendInputRequest{Text: "hi"})
	wantRefusal(t, err, http.StatusConflict, "run is terminal: its sandbox was lost")
}

// reboot ends the server and everything that it started, takes away what does
// not outlive a boot, and lets the host have another boot id.
func (s *server) reboot() {
	s.t.Helper()
	s.kill()
	for _, pid := range host.Processes(s.dir) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	eventually(s.t, "all processes are gone", func() bool { return len(host.Processes(s.dir)) == 0 })
	for _, line := range host.Mounts(s.dir) {
		_ = unix.Unmount(strings.Fields(line)[4], unix.MNT_DETACH)
	}
	namespaces := filepath.Join(s.dir, "netns")
	for _, name := range host.Names(namespaces, "sbx_") {
		if err := os.Remove(name); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, group := range host.Cgroups("sbx_") {
		if len(host.Processes(filepath.Base(group))) == 0 && strings.Contains(strings.Join(host.Names(filepath.Join(s.dir, "sandboxes"), "sbx_"), " "), filepath.Base(group)) {
			_ = os.Remove(group)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "boot-id"), []byte("the boot before\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.restart()
}

// After a reboot sessions have their files, and say that their memory is lost:
// ready ones are ready, a paused one is paused until it is woken, and one of
// which nothing was saved has failed.
func TestReboot(t *testing.T) {
	s := startServer(t)
	ctx, c := context.Background(), s.client()
	ready := s.savedSession("agent: demo\nname: ready\n")
	working := s.savedSession("agent: demo\nname: working\n")
	paused := s.savedSession("agent: demo\nname: paused\n")
	fresh := s.create("agent: none\nname: fresh\n")
	if _, err := c.HostedAgents.PauseSession(ctx, paused.SessionID); err != nil {
		t.Fatal(err)
	}
	run := s.send(working.SessionID, "slow 100")
	s.waitEvent(working.SessionID, func(e godo.HostedAgentEvent) bool { return e.RunID == run })
	s.reboot()

	s.wantBack(ready, "lost:reboot")
	s.wantBack(working, "lost:reboot")
	if f := payload[failed](t, s.waitRun(working.SessionID, run)); f.Code != 4 || !f.Terminal {
		t.Errorf("the run failed with %+v", f)
	}
	eventually(t, "the paused one says that its memory is lost", func() bool { return s.extras("paused").Memory == "lost:reboot" })
	if x := s.extras("paused"); x.Status != "SESSION_STATUS_PAUSED" || len(host.Processes(paused.SandboxID)) > 0 {
		t.Errorf("the paused one is %+v", x)
	}
	s.turn(ready.SessionID, "hello")
	if text := s.turn("paused", "hello"); !strings.HasPrefix(text, "turn ") {
		t.Errorf("the agent said %q", text)
	}
	s.wantBack(paused, "lost:reboot")
	eventually(t, "the one without saved files has failed", func() bool {
		x := s.extras(fresh.SessionID)
		return x.Status == "SESSION_STATUS_FAILED" && strings.Contains(x.Message, "reboot")
	})
}

// The files of a session that is used without runs are saved now and then, and
// removed with it.
func TestFilesAreSavedNowAndThen(t *testing.T) {
	s := startServer(t, "--save-every", "1s")
	sess := s.create("agent: none\n")
	id := sess.SessionID
	before := time.Now()
	s.sh(id, "echo one > file")
	s.waitSaved(id, before)
	killMachine(t, sess.SandboxID)
	eventually(t, "it is back", func() bool {
		x := s.extras(id)
		return x.SandboxID != sess.SandboxID && x.Status == "SESSION_STATUS_READY"
	})
	if got := s.sh(id, "cat file"); got != "one\n" {
		t.Errorf("the file is %q", got)
	}
	if len(host.Names(filepath.Join(s.dir, "recovery"), id)) == 0 {
		t.Error("no file on the host is named after the session")
	}
	if _, err := s.client().HostedAgents.DestroySession(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	s.waitStatus(id, godo.HostedAgentSessionStatusDestroyed)
	if left := host.Names(filepath.Join(s.dir, "recovery"), id); len(left) > 0 {
		t.Errorf("of the removed session there is %v", left)
	}
}

// The server dies at each stored step of a save and of a recovery; the next one
// ends what was begun.
func TestServerKilledWhileItSavesAndRestores(t *testing.T) {
	for _, step := range []string{"save.written", "save.kept", "lost.noted", "boot.planned", "boot.started"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			sess := s.savedSession("agent: demo\n")
			s.kill()
			s.env = []string{"PADDOCK_FAILPOINT=" + step}
			s.start()
			s.waitServing()
			if strings.HasPrefix(step, "save.") {
				_, _, _ = s.client().HostedAgents.SendInput(context.Background(), sess.SessionID, &godo.HostedAgentSendInputRequest{Text: "hello"})
				<-s.done
			}
			killMachine(t, sess.SandboxID)
			<-s.done
			s.restart()
			want := "lost:killed"
			if strings.HasPrefix(step, "save.") {
				want = "lost:gone"
			}
			s.wantBack(sess, want)
		})
	}
}
