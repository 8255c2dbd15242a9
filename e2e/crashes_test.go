package e2e

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// follower reads one session's stream, over whatever happens to the server, and
// keeps what it was given.
type follower struct {
	*server
	id     string
	events []godo.HostedAgentEvent
}

// follow reads until ctx ends, resuming after the last event.
func (f *follower) follow(ctx context.Context) {
	for ctx.Err() == nil {
		f.read(ctx, false)
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// read reads what follows the last event: to the end of what is stored, or until
// the connection ends.
func (f *follower) read(ctx context.Context, replay bool) {
	last := f.events[len(f.events)-1].EventID
	stream, _, err := f.client().HostedAgents.StreamSession(ctx, f.id, &godo.HostedAgentSessionStreamOptions{ReplayFrom: last, ReplayOnly: replay})
	if err != nil {
		return
	}
	defer stream.Close()
	for stream.Next() {
		if e := stream.Current(); e.Kind != godo.HostedAgentEventKindStreamState {
			f.events = append(f.events, e)
		}
	}
}

// follow begins to read all sessions; the function returned ends that and
// asserts that each reader was given exactly the log.
func (l *load) follow() (compare func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var all []*follower
	for _, id := range l.sessions {
		f := &follower{server: l.server, id: id, events: l.history(id)[:1]}
		all = append(all, f)
		wg.Go(func() { f.follow(ctx) })
	}
	return func() {
		l.t.Helper()
		cancel()
		wg.Wait()
		for _, f := range all {
			f.read(context.Background(), true)
			log := l.history(f.id)
			same := slices.EqualFunc(f.events, log, func(a, b godo.HostedAgentEvent) bool {
				return a.Seq == b.Seq && a.EventID == b.EventID && a.Kind == b.Kind && a.RunID == b.RunID
			})
			if !same {
				l.t.Errorf("the reader of %s was given %d events, the log has %d: they differ", f.id, len(f.events), len(log))
			}
		}
	}
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
const failpointPatience = 6 * time.Second

// aside are the failpoints on ways that the load does not take: an exec under a
// key, a spare that is claimed, a lost sandbox. Tests of their own die there.
var aside = []string{"exec.named", "boot.claimed", "boot.reported", "lost.noted"}

// dieAt starts the server so that it dies at a failpoint, and kills it if it does
// not come by.
func (l *load) dieAt(name string, nth int) (died bool) {
	l.env = []string{"PADDOCK_FAILPOINT=" + name + ":" + strconv.Itoa(nth)}
	l.server.start()
	eventually(l.t, "the server serves or is dead", func() bool {
		answer, err := http.Get("http://" + l.addr + "/healthz")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil || !l.alive()
	})
	select {
	case <-l.done:
		return true
	case <-time.After(failpointPatience):
		l.kill()
		return false
	}
}

// The server is killed at every failpoint and at random moments, while clients
// do everything at once and others follow.
func TestServerKilledUnderLoad(t *testing.T) {
	l := newLoad(t, 3)
	l.crashing = true
	compare := l.follow()
	l.start(6)
	r := rand.New(rand.NewPCG(l.seed, 1<<33))
	var met []string
	l.kill()
	for _, name := range failpoints(t) {
		if !slices.Contains(aside, name) && l.dieAt(name, 1+r.IntN(3)) {
			met = append(met, name)
		}
	}
	t.Logf("the server died at the failpoints %v", met)
	if len(met) == 0 {
		t.Error("the server died at no failpoint")
	}
	l.restart()
	for range crashes() {
		<-time.After(time.Duration(100+r.IntN(1400)) * time.Millisecond) // a random moment, not a wait
		l.kill()
		l.restart()
	}
	l.end()
	l.settle()
	compare()
}

// Sandboxes are killed at random moments, by the host and from inside, and now
// and then the server with them.
func TestSandboxesKilledUnderLoad(t *testing.T) {
	l := newLoad(t, 3)
	l.crashing, l.losing = true, true
	compare := l.follow()
	l.start(4)
	r := rand.New(rand.NewPCG(l.seed, 1<<34))
	for i := range 2 + crashes()/5 {
		<-time.After(time.Duration(500+r.IntN(1500)) * time.Millisecond) // a random moment, not a wait
		id := l.choose(r)
		if i%3 == 2 {
			l.kill()
		}
		l.loseSandbox(id, i%2 == 0)
		if i%3 == 2 {
			l.restart()
		}
		eventually(t, id+" has come to an end of it", func() bool {
			status := l.get(id).Status
			return status != godo.HostedAgentSessionStatusUpdating && status != godo.HostedAgentSessionStatusDestroying
		})
		l.replace(context.Background(), id, r) // its conversation may have ended
	}
	l.end()
	l.settle()
	compare()
}

// loseSandbox ends a session's sandbox, from inside if it can be, by ending its
// first process.
func (l *load) loseSandbox(id string, inside bool) {
	l.t.Helper()
	if inside && l.alive() {
		l.do(context.Background(), "POST", "/"+id+"/sandbox/exec", map[string]any{"argv": []string{"kill", "-QUIT", "1"}, "user": "root"}, 200, 409)
		return
	}
	if !l.alive() {
		for _, pid := range host.Processes(filepath.Join(l.dir, "sandboxes")) {
			endProcess(pid)
		}
		return
	}
	if sandbox := l.get(id).SandboxID; sandbox != "" {
		for _, pid := range host.Processes(sandbox) {
			endProcess(pid)
		}
	}
}
