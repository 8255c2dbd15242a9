package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// stubGuest speaks the real guest protocol and does what the test says: prompts
// and answers are handed to the test, which reports as it likes.
type stubGuest struct {
	machine *stubMachine
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	prompts chan id.Run
	answers chan guestapi.Answer
	cancels chan id.Run

	mu        sync.Mutex
	onCancel  func()                                                          // called by the next Cancel
	onExec    func(ctx context.Context) (guestapi.ExecProgress, error)        // answers StartExec and PollExec
	onRead    func(ctx context.Context) (guestapi.File, io.ReadCloser, error) // answers ReadFile
	onDrain   func(ctx context.Context) error                                 // answers Drain
	onRelieve func(need int64) int                                            // answers Relieve
	config    guestapi.Config
	away      bool // it does not dial
	seen      map[id.Run]bool
	ended     map[id.Run]bool
	up        *guestapi.Uplink
	epoch     int64
	n         int64
}

func newStubGuest(m *stubMachine, silent bool) *stubGuest {
	ctx, cancel := context.WithCancel(context.Background())
	g := &stubGuest{machine: m, cancel: cancel, seen: map[id.Run]bool{}, ended: map[id.Run]bool{},
		prompts: make(chan id.Run, 100), answers: make(chan guestapi.Answer, 100), cancels: make(chan id.Run, 100)}
	if !silent {
		g.wg.Go(func() { g.keepDialling(ctx) })
	}
	return g
}

func (g *stubGuest) stop() { g.cancel(); g.wg.Wait() }

func (g *stubGuest) keepDialling(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if conn, err := net.Dial("unix", g.machine.socket); err == nil && !g.isAway() {
			g.mu.Lock()
			hello := guestapi.Hello{Version: guestapi.Version, Oldest: guestapi.OldestVersion, Secret: g.machine.Secret(), Epoch: g.epoch}
			g.mu.Unlock()
			if up, err := guestapi.Dial(ctx, conn, hello, g); err == nil {
				g.mu.Lock()
				g.up, g.epoch, g.n = up, up.Welcome().Epoch, up.Welcome().Ack
				g.mu.Unlock()
				select {
				case <-up.Done():
				case <-ctx.Done():
					_ = up.Close()
				}
			}
		} else if err == nil {
			_ = conn.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (g *stubGuest) isAway() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.away
}

// stayAway takes the connection down and lets none come, or lets it come again.
func (g *stubGuest) stayAway(away bool) {
	g.mu.Lock()
	up := g.up
	g.away = away
	g.mu.Unlock()
	if away && up != nil {
		_ = up.Close()
	}
}

// report hands one report over, again and again until it is acknowledged.
func (g *stubGuest) report(t *testing.T, run id.Run, kind guestapi.ReportType, of event.Kind, data any) {
	t.Helper()
	g.hand(t, guestapi.Report{Run: run.String(), Type: kind, Kind: of}, data)
}

// reportRaw reports an event with the frame that it was made of.
func (g *stubGuest) reportRaw(t *testing.T, run id.Run, of event.Kind, data any, frame []byte) {
	t.Helper()
	g.hand(t, guestapi.Report{Run: run.String(), Type: guestapi.ReportEvent, Kind: of, SourceRaw: frame}, data)
}

func (g *stubGuest) hand(t *testing.T, r guestapi.Report, data any) {
	t.Helper()
	b, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	r.Data = b
	eventually(t, "a report is acknowledged", func() bool {
		g.mu.Lock()
		up, epoch, n := g.up, g.epoch, g.n+1
		g.mu.Unlock()
		if up == nil {
			return false
		}
		r.N = n
		ack, err := up.Report(context.Background(), guestapi.Batch{Epoch: epoch, Reports: []guestapi.Report{r}})
		if err != nil || ack.N != n {
			return false
		}
		g.mu.Lock()
		g.n = n
		g.mu.Unlock()
		return true
	})
}

func (g *stubGuest) say(t *testing.T, run id.Run, text string) {
	t.Helper()
	g.report(t, run, guestapi.ReportEvent, event.TokenDelta, event.Delta{Text: text})
}

func (g *stubGuest) endTurn(t *testing.T, run id.Run, end guestapi.End) {
	t.Helper()
	g.mu.Lock()
	g.ended[run] = true
	g.mu.Unlock()
	g.report(t, run, guestapi.ReportEnd, "", end)
}

func (g *stubGuest) Configure(_ context.Context, config guestapi.Config) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.config = config
	return nil
}

// forget forgets what it was given.
func (g *stubGuest) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.config = guestapi.Config{}
}

// environ is the variables that the guest was given last.
func (g *stubGuest) environ() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.config.Env
}

func (g *stubGuest) Prompt(_ context.Context, run id.Run, _ guestapi.Prompt) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.seen[run] {
		g.seen[run] = true
		g.prompts <- run
	}
	return nil
}

func (g *stubGuest) Cancel(_ context.Context, run id.Run) (guestapi.CancelOutcome, error) {
	g.mu.Lock()
	then := g.onCancel
	g.onCancel = nil
	g.mu.Unlock()
	if then != nil {
		then()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancels <- run
	switch {
	case g.ended[run]:
		return guestapi.CancelEnded, nil
	case !g.seen[run]:
		g.seen[run] = true // its prompt starts nothing
		return guestapi.CancelNoTurn, nil
	}
	return guestapi.CancelAcked, nil
}

func (g *stubGuest) Answer(_ context.Context, _ string, a guestapi.Answer) error {
	g.answers <- a
	return nil
}

var errNoExec = errors.New("the stub runs no programs")

func (g *stubGuest) StartExec(ctx context.Context, _ id.Exec, _ guestapi.ExecRequest, _ time.Duration) (guestapi.ExecProgress, error) {
	g.mu.Lock()
	do := g.onExec
	g.mu.Unlock()
	if do == nil {
		return guestapi.ExecProgress{}, errNoExec
	}
	return do(ctx)
}
func (g *stubGuest) PollExec(ctx context.Context, exec id.Exec, _, _ int64, wait time.Duration) (guestapi.ExecProgress, error) {
	return g.StartExec(ctx, exec, guestapi.ExecRequest{}, wait)
}
func (g *stubGuest) EndExec(context.Context, id.Exec) error { return nil }
func (g *stubGuest) ListFiles(context.Context, string) ([]guestapi.File, error) {
	return []guestapi.File{}, nil
}
func (g *stubGuest) ReadFile(ctx context.Context, _ string, _, _ int64) (guestapi.File, io.ReadCloser, error) {
	g.mu.Lock()
	do := g.onRead
	g.mu.Unlock()
	if do == nil {
		return guestapi.File{}, nil, errNoExec
	}
	return do(ctx)
}

// setRead changes what ReadFile does while the guest is in use.
func (g *stubGuest) setRead(do func(context.Context) (guestapi.File, io.ReadCloser, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.onRead = do
}

func (g *stubGuest) Relieve(_ context.Context, need int64) (int, error) {
	g.mu.Lock()
	do := g.onRelieve
	g.mu.Unlock()
	if do == nil {
		return 0, nil
	}
	return do(need), nil
}

func (g *stubGuest) Drain(ctx context.Context) error {
	g.mu.Lock()
	do := g.onDrain
	g.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(ctx)
}
