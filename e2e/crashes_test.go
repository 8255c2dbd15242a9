package e2e

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// crashes is how often the server is killed at random moments.
func crashes() uint64 { return number("PADDOCK_CRASHES", 25) }

// failpoints are the places at which the program's sources let it die.
func failpoints(t *testing.T) (names []string) {
	t.Helper()
	hit := regexp.MustCompile(`failpoint\.Hit\("([a-z.]+)"\)`)
	err := filepath.WalkDir("../internal", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range hit.FindAllSubmatch(source, -1) {
			names = append(names, string(match[1]))
		}
		return err
	})
	if err != nil || len(names) < 10 {
		t.Fatalf("failpoints %v, %v", names, err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// assertAnsweredOnce asserts that each question was settled once at most, and
// none that was never asked.
func assertAnsweredOnce(t *testing.T, events []godo.HostedAgentEvent) {
	t.Helper()
	type hitl struct {
		HITLID  string `json:"hitl_id"`
		Outcome string
	}
	asked, settled := map[string]bool{}, map[string]int{}
	for _, e := range events {
		switch e.Kind {
		case godo.HostedAgentEventKindHITLRequested:
			asked[payload[hitl](t, e).HITLID] = true
		case godo.HostedAgentEventKindHITLResolved:
			if h := payload[hitl](t, e); h.Outcome != string(godo.HostedAgentHITLOutcomeDefer) {
				if settled[h.HITLID]++; settled[h.HITLID] > 1 || !asked[h.HITLID] {
					t.Errorf("event %d: %s is settled %d times, asked: %v", e.Seq, h.HITLID, settled[h.HITLID], asked[h.HITLID])
				}
			}
		}
	}
}

// failpointPatience is how long the load may take to come by a failpoint, once
// the server serves.
const failpointPatience = 60 * time.Second

// dieAt starts the server so that it dies at a failpoint, which the load has to
// come by; the load is helped to what it does seldom.
func (l *load) dieAt(name string, nth int, r *rand.Rand) {
	l.t.Helper()
	l.env = []string{"PADDOCK_FAILPOINT=" + name + ":" + strconv.Itoa(nth)}
	l.server.start()
	eventually(l.t, "the server serves or is dead", func() bool {
		answer, err := http.Get("http://" + l.addr + "/healthz")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil || !l.alive()
	})
	late := time.After(failpointPatience)
	for {
		select {
		case <-l.done:
			return
		case <-late:
			l.t.Errorf("the server did not come by the failpoint %s %d times", name, nth)
			l.kill()
			return
		case <-time.After(2 * time.Second):
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			switch {
			case strings.HasPrefix(name, "boot."), strings.HasPrefix(name, "create."):
				l.replace(ctx, l.choose(r), r)
			case name == "lost.noted":
				l.loseSaved(ctx)
			}
			cancel()
		}
	}
}

// loseSaved kills the sandbox of a session whose files are saved.
func (l *load) loseSaved(ctx context.Context) {
	l.mu.Lock()
	sessions := slices.Clone(l.sessions)
	l.mu.Unlock()
	for _, id := range sessions {
		status, answer := l.do(ctx, "GET", "/"+id, nil, 200)
		var got struct{ Session extras }
		if status == http.StatusOK && json.Unmarshal(answer, &got) == nil && got.Session.RecoveryPoint != nil {
			for _, pid := range host.Processes(got.Session.SandboxID) {
				endProcess(pid)
			}
			return
		}
	}
}

// The server is killed at every failpoint, while clients do everything at once
// and others follow.
func TestServerKilledAtFailpointsUnderLoad(t *testing.T) {
	l := newLoad(t, 3, "--pool", "3")
	l.crashing, l.losing = true, true // the sandboxes at lost.noted
	l.start(6)
	r := rand.New(rand.NewPCG(l.seed, 1<<33))
	l.kill()
	for _, name := range failpoints(t) {
		if strings.HasPrefix(name, "image.") {
			continue // TestImageSurvivesTheServer comes by these
		}
		nth := 1 + r.IntN(3)
		if strings.HasPrefix(name, "boot.") || name == "lost.noted" {
			nth = 1 // it is seldom come by
		}
		l.dieAt(name, nth, r)
	}
	l.restart()
	l.end()
	l.settle()
}

// The server is killed at random moments, while clients do everything at once
// and others follow.
func TestServerKilledUnderLoad(t *testing.T) {
	l := newLoad(t, 3)
	l.crashing = true
	l.start(6)
	r := rand.New(rand.NewPCG(l.seed, 1<<33))
	for range crashes() {
		<-time.After(time.Duration(100+r.IntN(1400)) * time.Millisecond) // a random moment, not a wait
		l.kill()
		l.restart()
	}
	l.end()
	l.settle()
}

// Sandboxes are killed at random moments, by the host and from inside, whole and
// in parts, and now and then the server with them.
func TestSandboxesKilledUnderLoad(t *testing.T) {
	l := newLoad(t, 3)
	l.crashing, l.losing = true, true
	l.start(4)
	r := rand.New(rand.NewPCG(l.seed, 1<<34))
	for i := range 2 + crashes()/5 {
		<-time.After(time.Duration(500+r.IntN(1500)) * time.Millisecond) // a random moment, not a wait
		id := l.choose(r)
		before := l.extras(id)
		if i%3 == 2 {
			l.kill()
		}
		ways[i%uint64(len(ways))](l, id, before.SandboxID, r)
		if i%3 == 2 {
			l.restart()
		}
		l.wantOutcome(id, before, "lost:killed", "lost:gone")
		l.replace(context.Background(), id, r) // its conversation may have ended
	}
	l.end()
	l.settle()
}

// ways are those in which a sandbox, or a part of it, is ended. With the server
// dead only the host can do it.
var ways = []func(l *load, id, sandbox string, r *rand.Rand){
	func(_ *load, _, sandbox string, _ *rand.Rand) {
		for _, pid := range host.Processes(sandbox) {
			endProcess(pid)
		}
	},
	// Its first process, from inside.
	func(l *load, id, _ string, _ *rand.Rand) { l.inside(id, "kill -QUIT 1") },
	// A single process of the host, of those that it is made of.
	func(_ *load, _, sandbox string, r *rand.Rand) {
		if tree := machineTree(sandbox); len(tree) > 0 {
			endProcess(tree[r.IntN(len(tree))])
		}
	},
	// The agent.
	func(l *load, id, _ string, _ *rand.Rand) { l.inside(id, "pkill -9 -f paddock-demo-agent") },
}

// inside runs a line as root in the session's sandbox, if the server lives.
func (l *load) inside(id, line string) {
	if l.alive() {
		l.do(context.Background(), "POST", "/"+id+"/sandbox/exec", map[string]any{"argv": []string{"sh", "-c", line}, "user": "root"}, 200, 409)
	}
}

// wantOutcome asserts what becomes of a session to whose sandbox something was
// done: it comes to rest, has not failed if its files were saved before, and says
// what was lost if its sandbox is another one.
func (l *load) wantOutcome(id string, before extras, memories ...string) {
	l.t.Helper()
	var now extras
	eventually(l.t, id+" has come to an end of it", func() bool {
		now = l.extras(id)
		return now.Status != "SESSION_STATUS_UPDATING" && now.Status != "SESSION_STATUS_DESTROYING" && now.Status != "SESSION_STATUS_PROVISIONING"
	})
	if now.Status == "SESSION_STATUS_FAILED" && before.RecoveryPoint != nil {
		l.t.Errorf("%s, whose files were saved, has failed: %s", id, now.Message)
	}
	was := before.Status == "SESSION_STATUS_READY" || before.Status == "SESSION_STATUS_PAUSED" // else it had no memory to lose
	if other := now.SandboxID != before.SandboxID; was && other && (!slices.Contains(memories, now.Memory) || now.RestoredTo.IsZero()) {
		l.t.Errorf("the memory of %s is %q and it is restored to %s; want %v", id, now.Memory, now.RestoredTo, memories)
	}
}

// reboots is how often the host is rebooted, as far as Paddock can tell.
func reboots() uint64 { return 2 + crashes()/20 }

// The host is rebooted again and again while clients do everything at once. A
// session at rest beside them has its files and goes on with its conversation,
// one that was paused is paused until it is woken, and no session whose files
// were saved has failed.
func TestRebootsUnderLoad(t *testing.T) {
	l := newLoad(t, 3)
	l.crashing, l.losing = true, true
	quiet, paused := l.savedSession("agent: demo\nname: quiet\n"), l.savedSession("agent: demo\nname: paused\n")
	l.start(4)
	r := rand.New(rand.NewPCG(l.seed, 1<<36))
	for range reboots() {
		pause(l.server, paused.SessionID)
		<-time.After(time.Duration(500+r.IntN(2500)) * time.Millisecond) // a random moment, not a wait
		before := map[string]extras{}
		l.mu.Lock()
		sessions := slices.Clone(l.sessions)
		l.mu.Unlock()
		for _, id := range sessions {
			before[id] = l.extras(id)
		}
		l.reboot()
		for _, id := range sessions {
			l.wantOutcome(id, before[id], "lost:reboot")
		}
		l.wantBack(quiet, "lost:reboot")
		eventually(t, "the paused one says that its memory is lost", func() bool { return l.extras("paused").Memory == "lost:reboot" })
		if x := l.extras("paused"); x.Status != "SESSION_STATUS_PAUSED" || len(host.Processes(paused.SandboxID)) > 0 {
			t.Errorf("the paused one is %+v", x)
		}
		for _, sess := range []*godo.HostedAgentSession{quiet, paused} {
			at := time.Now()
			if text := l.turn(sess.SessionID, "hello"); !strings.HasPrefix(text, "turn ") {
				t.Errorf("the agent said %q", text)
			}
			l.wantBack(sess, "lost:reboot")
			l.waitSaved(sess.SessionID, at)
			*sess = *l.get(sess.SessionID)
		}
		for _, id := range sessions {
			l.replace(context.Background(), id, r) // its conversation may have ended
		}
	}
	l.end()
	l.settle()
}
