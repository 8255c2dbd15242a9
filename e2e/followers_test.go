package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/digitalocean/godo"
)

// A follower reads one history over whatever happens to the server: again and
// again it resumes after the last event that it was given, and keeps all of them.
// At the end it must have exactly what the log has.
type follower struct {
	name    string
	session string // whose history it reads; empty: the team's
	types   string // the only events that it asks for, with commas; empty: all
	open    func(ctx context.Context, f *follower)
	events  []godo.HostedAgentEvent
}

// someTypes is what those ask for who do not want everything.
const someTypes = "session.updated,run.started,run.human_input_requested,run.human_input_received,run.completed,run.failed"

// followers are all who follow a load.
type followers struct {
	server *server
	stop   func()
	ctx    context.Context
	wg     sync.WaitGroup

	mu  sync.Mutex
	all []*follower
}

// follow has the team's histories, and those of each session that is made from
// now on, read in every way there is.
func (s *server) followAll() *followers {
	f := &followers{server: s}
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.begin(&follower{name: "team stream", open: s.openStream})
	f.begin(&follower{name: "team stream of types", types: someTypes, open: s.openStream})
	return f
}

// session begins to follow one.
func (f *followers) session(id string) {
	f.begin(&follower{name: "public client", session: id, open: f.server.openClient})
	f.begin(&follower{name: "stream of types", session: id, types: someTypes, open: f.server.openStream})
	f.begin(&follower{name: "long poll", session: id, open: f.server.openPoll})
}

func (f *followers) begin(one *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, one)
	f.wg.Go(func() {
		for f.ctx.Err() == nil && !one.over() {
			one.open(f.ctx, one)
			select {
			case <-time.After(20 * time.Millisecond):
			case <-f.ctx.Done():
			}
		}
	})
}

// over says whether nothing more can come.
func (f *follower) over() bool {
	return f.session != "" && len(f.events) > 0 && strings.Contains(string(f.events[len(f.events)-1].Payload), "SESSION_STATUS_DESTROYED")
}

// cursor is the last event that it was given; empty before the first.
func (f *follower) cursor() string {
	if len(f.events) == 0 {
		return ""
	}
	return f.events[len(f.events)-1].EventID
}

func (f *follower) path() string {
	if f.session == "" {
		return "/events"
	}
	return "/sessions/" + f.session + "/events"
}

// openClient reads with the public client until the connection ends. Without an
// event to go on from it reads what is stored, for a live stream begins late.
func (s *server) openClient(ctx context.Context, f *follower) {
	stream, _, err := s.client().HostedAgents.StreamSession(ctx, f.session, &godo.HostedAgentSessionStreamOptions{ReplayFrom: f.cursor(), ReplayOnly: f.cursor() == ""})
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

// openStream reads the stream with Last-Event-ID, as a browser would.
func (s *server) openStream(ctx context.Context, f *follower) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query := url.Values{}
	if f.types != "" {
		query.Set("types", f.types)
	}
	if f.cursor() == "" {
		query.Set("replay_only", "true")
	}
	frames, err := s.stream(ctx, f.path()+"?"+query.Encode(), f.cursor())
	for err == nil {
		var e godo.HostedAgentEvent
		if e, err = next(frames); err == nil {
			f.events = append(f.events, e)
		}
	}
}

// openPoll asks once for what is new.
func (s *server) openPoll(ctx context.Context, f *follower) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/v2/harness-runtime"+f.path()+"?wait=2s&after="+url.QueryEscape(f.cursor()), nil)
	if err != nil {
		return
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Accept": {"application/json"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	var got polled
	if json.NewDecoder(resp.Body).Decode(&got) == nil && resp.StatusCode == http.StatusOK {
		f.events = append(f.events, got.Events...)
	}
}

// compare waits until each has read what there is, ends them, and asserts that
// each was given exactly the log: nothing twice, nothing left out, nothing else.
func (f *followers) compare() {
	t := f.server.t
	t.Helper()
	logs := map[string][]godo.HostedAgentEvent{"": f.server.everything()}
	f.mu.Lock()
	all := f.all
	f.mu.Unlock()
	for _, one := range all {
		if logs[one.session] == nil {
			logs[one.session] = f.server.history(one.session)
		}
	}
	<-time.After(3 * time.Second) // for the last events to be read; what is missing then is read by resuming once more
	f.stop()
	f.wg.Wait()
	read := 0
	for _, one := range all {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		want := wanted(logs[one.session], one.types)
		if len(one.events) < len(want) {
			one.open(ctx, one)
		}
		cancel()
		read += len(one.events)
		if d := difference(one.events, want); d != "" {
			t.Errorf("%s of %q was given %d events, the log has %d: %s", one.name, one.session, len(one.events), len(want), d)
		}
	}
	t.Logf("%d followers were given %d events", len(all), read)
}

// wanted are the events of a log of the types that were asked for.
func wanted(log []godo.HostedAgentEvent, types string) []godo.HostedAgentEvent {
	if types == "" {
		return log
	}
	var some []godo.HostedAgentEvent
	for _, e := range log {
		if slices.Contains(strings.Split(types, ","), string(e.Kind)) {
			some = append(some, e)
		}
	}
	return some
}

// difference says where two histories part; empty when they do not.
func difference(got, want []godo.HostedAgentEvent) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("event %d (%s %s) is missing", want[i].Seq, want[i].EventID, want[i].Kind)
		case i >= len(want):
			return fmt.Sprintf("event %d (%s %s) is too much", got[i].Seq, got[i].EventID, got[i].Kind)
		case got[i].EventID != want[i].EventID || got[i].Seq != want[i].Seq || got[i].Kind != want[i].Kind ||
			got[i].RunID != want[i].RunID || got[i].SessionID != want[i].SessionID || string(got[i].Payload) != string(want[i].Payload):
			return fmt.Sprintf("it was given %d %s %s %s instead of %d %s %s %s",
				got[i].Seq, got[i].EventID, got[i].Kind, got[i].Payload, want[i].Seq, want[i].EventID, want[i].Kind, want[i].Payload)
		}
	}
	return ""
}
