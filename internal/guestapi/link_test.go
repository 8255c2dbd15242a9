package guestapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/id"
)

func TestCallsBothWays(t *testing.T) {
	run := id.New[id.Run]()
	var got Prompt
	var batches []Batch
	p := connect(t, &echoGuest{prompt: func(r id.Run, p Prompt) error {
		if r != run {
			return fmt.Errorf("run %s", r)
		}
		got = p
		return nil
	}}, hostFunc(func(_ context.Context, b Batch) (Ack, error) {
		batches = append(batches, b)
		return Ack{b.Epoch, b.Reports[len(b.Reports)-1].N}, nil
	}))
	if w := p.uplink.Welcome(); w.Epoch != 1 || w.Version != Version {
		t.Errorf("welcome %+v", w)
	}
	if h := p.link.Hello(); h.Build != "test" || h.Secret != "" {
		t.Errorf("hello %+v", h)
	}
	want := Prompt{Text: "grüße <&> \u0000 🦊", SourceRaw: []byte{0, 255}}
	if err := p.link.Prompt(t.Context(), run, want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	progress, err := p.link.StartExec(t.Context(), id.New[id.Exec](), ExecRequest{Stdin: []byte{1, 2, 255}}, time.Second)
	if err != nil || !progress.Done() || !bytes.Equal(progress.Stdout, []byte{1, 2, 255}) || progress.Exit.Duration != time.Second {
		t.Errorf("progress %+v, %v", progress, err)
	}
	if outcome, err := p.link.Cancel(t.Context(), run); err != nil || outcome != CancelNoTurn {
		t.Errorf("cancel %q, %v", outcome, err)
	}
	sent := Batch{Epoch: 1, Reports: []Report{report(1, run), report(2, run)}}
	ack, err := p.uplink.Report(t.Context(), sent)
	if err != nil || ack != (Ack{1, 2}) {
		t.Errorf("ack %+v, %v", ack, err)
	}
	if d := cmp.Diff([]Batch{sent}, batches); d != "" {
		t.Error(d)
	}
}

func TestFaultsCrossTheWire(t *testing.T) {
	run := id.New[id.Run]()
	p := connect(t, &echoGuest{}, hostFunc(func(context.Context, Batch) (Ack, error) {
		return Ack{}, fmt.Errorf("store: %w", errors.New("a secret of the host"))
	}))
	err := p.link.Configure(t.Context(), Config{})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Conflict || f.Message != "the session is another" || f.Cause.Error() != io.ErrNoProgress.Error() {
		t.Errorf("configure: %#v", err)
	}
	if _, err := p.link.PollExec(t.Context(), id.New[id.Exec](), 0, 0, 0); !fault.Is(err, fault.NotFound) {
		t.Errorf("poll: %v", err)
	}
	_, err = p.uplink.Report(t.Context(), Batch{Epoch: 1, Reports: []Report{report(1, run)}})
	if !fault.Is(err, fault.Internal) || strings.Contains(err.Error(), "secret") {
		t.Errorf("report: %v", err)
	}
}

func TestLimits(t *testing.T) {
	run := id.New[id.Run]()
	p := connect(t, &echoGuest{files: []File{{Name: strings.Repeat("x", maxAnswer)}}}, hostFunc(func(context.Context, Batch) (Ack, error) {
		t.Error("a batch past the limits reached the host")
		return Ack{}, nil
	}))
	for name, err := range map[string]error{
		"prompt": p.link.Prompt(t.Context(), run, Prompt{Text: strings.Repeat("x", MaxPrompt+1)}),
		"exec": func() error {
			_, err := p.link.StartExec(t.Context(), id.New[id.Exec](), ExecRequest{Stdin: make([]byte, MaxExecRequest)}, 0)
			return err
		}(),
		"answer": func() error { _, err := p.link.ListFiles(t.Context(), "."); return err }(),
		"batch": func() error {
			_, err := p.uplink.Report(t.Context(), Batch{Epoch: 1, Reports: []Report{{N: 1, SourceRaw: make([]byte, MaxBatch)}}})
			return err
		}(),
		"report": func() error {
			r := report(1, run)
			r.SourceRaw = make([]byte, MaxReport)
			_, err := p.uplink.Report(t.Context(), Batch{Epoch: 1, Reports: []Report{r}})
			return err
		}(),
	} {
		if !fault.Is(err, fault.TooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadFile(t *testing.T) {
	content := bytes.Repeat([]byte{0, 1, 254, '\n'}, 100_000)
	g := &echoGuest{content: bytes.NewReader(content)}
	p := connect(t, g, nil)
	file, r, err := p.link.ReadFile(t.Context(), "a b/é", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) || file.Name != "a b/é" {
		t.Errorf("file %+v, %d bytes, %v", file, len(got), err)
	}

	g.content = failingReader(100_000, errors.New("disk"))
	_, r, err = p.link.ReadFile(t.Context(), "x", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a file cut in the middle read as whole")
	}
}

func TestLostConnectionEndsCalls(t *testing.T) {
	g := &echoGuest{hold: make(chan struct{}), draining: make(chan struct{})}
	p := connect(t, g, nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		<-g.draining
		p.uplink.Close()
	})
	err := p.link.Drain(t.Context())
	if f := new(fault.Error); err == nil || errors.As(err, &f) {
		t.Errorf("drain over a lost connection: %v", err)
	}
	<-p.link.Done()
	if err := p.link.Drain(t.Context()); err == nil {
		t.Error("drain after the end succeeded")
	}
	wg.Wait()
}

func TestCallerGoneCancelsCall(t *testing.T) {
	g := &echoGuest{hold: make(chan struct{}), draining: make(chan struct{})}
	p := connect(t, g, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		<-g.draining
		cancel()
	})
	if err := p.link.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drain: %v", err)
	}
	wg.Wait()
	if err := p.link.EndExec(t.Context(), id.New[id.Exec]()); err != nil {
		t.Errorf("the connection did not survive a cancelled call: %v", err)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	run := id.New[id.Run]()
	p := connect(t, &echoGuest{}, hostFunc(func(context.Context, Batch) (Ack, error) { return Ack{}, nil }))
	var wg sync.WaitGroup
	for range 10 * maxStreams[hostSide] {
		wg.Go(func() {
			if err := p.link.EndExec(t.Context(), id.New[id.Exec]()); err != nil {
				t.Error(err)
			}
			if _, err := p.uplink.Report(t.Context(), Batch{Epoch: 1, Reports: []Report{report(1, run)}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// report is a small valid report.
func report(n int64, run id.Run) Report {
	data, _ := json.Marshal(event.Delta{Text: "hi"})
	return Report{N: n, Run: run.String(), Type: ReportEvent, Kind: event.TokenDelta, Data: data}
}

func BenchmarkRoundTrip(b *testing.B) {
	hostConn, guestConn := sockets(b)
	dialled := make(chan *Uplink, 1)
	go func() {
		up, _ := Dial(b.Context(), guestConn, hello(), &echoGuest{})
		dialled <- up
	}()
	link, err := Accept(b.Context(), hostConn, secret, acceptAll, nil)
	if err != nil {
		b.Fatal(err)
	}
	up := <-dialled
	defer up.Close()
	defer link.Close()
	e := id.New[id.Exec]()
	for b.Loop() {
		if err := link.EndExec(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
}
