package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var run = id.New[id.Run]().String()

// entryNamed is a report that can be told from others.
func entryNamed(name string) guestapi.Report {
	data, _ := json.Marshal(event.Log{Level: "info", Message: name})
	return guestapi.Report{Run: run, Type: guestapi.ReportEvent, Kind: event.RunLog, Data: data}
}

func nameOf(r guestapi.Report) string {
	var l event.Log
	_ = json.Unmarshal(r.Data, &l)
	return l.Message
}

func textOf(r guestapi.Report) string {
	var d event.Delta
	_ = json.Unmarshal(r.Data, &d)
	return d.Text
}

// host is a store of reports as the real one works: by (epoch, n), each once.
type host struct {
	epoch  int64
	last   map[int64]int64
	stored []string
}

func (h *host) report(b guestapi.Batch) error {
	if b.Epoch != h.epoch {
		return errors.New("another epoch")
	}
	if err := b.Validate(); err != nil {
		return err
	}
	for _, r := range b.Reports {
		switch last := h.last[h.epoch]; {
		case r.N <= last:
		case r.N == last+1:
			h.last[h.epoch] = r.N
			h.stored = append(h.stored, nameOf(r))
		default:
			return fmt.Errorf("gap: %d after %d", r.N, last)
		}
	}
	return nil
}

func (h *host) welcome(j *Journal) guestapi.Welcome {
	w := guestapi.Welcome{Epoch: h.epoch, Ack: h.last[h.epoch]}
	if e := j.Epoch(); e != h.epoch {
		w.Prior = h.last[e]
	}
	return w
}

// Whatever is lost on the way (batches, acks, connections) and whenever the
// host gives a new epoch, each report is stored once and in order.
func TestExactlyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := New(1 << 30)
		h := &host{epoch: 1, last: map[int64]int64{}}
		var added []string
		j.Attach(h.welcome(j))
		send := func(lose string) {
			j.mu.Lock()
			empty := len(j.entries) == 0
			j.mu.Unlock()
			if empty {
				return
			}
			batch, err := j.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if lose == "batch" {
				return
			}
			if err := h.report(batch); err != nil {
				t.Fatal(err)
			}
			if lose == "" {
				j.Acked(guestapi.Ack{Epoch: h.epoch, N: h.last[h.epoch]})
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				name := fmt.Sprint(len(added))
				added = append(added, name)
				if err := j.Add(context.Background(), entryNamed(name)); err != nil {
					t.Fatal(err)
				}
			},
			"send":      func(*rapid.T) { send("") },
			"lose send": func(*rapid.T) { send("batch") },
			"lose ack":  func(*rapid.T) { send("ack") },
			"reconnect": func(*rapid.T) { j.Attach(h.welcome(j)) },
			"restore":   func(*rapid.T) { h.epoch++; j.Attach(h.welcome(j)) },
		})
		j.Attach(h.welcome(j))
		for range len(added) + 1 {
			send("")
		}
		if d := cmp.Diff(added, h.stored); d != "" {
			t.Fatal(d)
		}
	})
}

func TestNumbering(t *testing.T) {
	j := New(1 << 20)
	for _, n := range []string{"a", "b", "c", "d"} {
		_ = j.Add(t.Context(), entryNamed(n))
	}
	check := func(epoch int64, want ...string) {
		t.Helper()
		b, err := j.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range b.Reports {
			got = append(got, fmt.Sprint(r.N, nameOf(r)))
		}
		if d := cmp.Diff(want, got); d != "" || b.Epoch != epoch {
			t.Errorf("epoch %d: %s", b.Epoch, d)
		}
	}
	j.Attach(guestapi.Welcome{Epoch: 5})
	check(5, "1a", "2b", "3c", "4d")
	j.Acked(guestapi.Ack{Epoch: 5, N: 1})
	check(5, "2b", "3c", "4d")
	j.Attach(guestapi.Welcome{Epoch: 5, Ack: 2})
	check(5, "3c", "4d")
	j.Acked(guestapi.Ack{Epoch: 4, N: 4})
	check(5, "3c", "4d")
	j.Attach(guestapi.Welcome{Epoch: 6, Prior: 3})
	check(6, "1d")
	j.Attach(guestapi.Welcome{Epoch: 6, Ack: 9})
	_ = j.Add(t.Context(), entryNamed("e"))
	check(6, "10e")
}

func TestCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := New(1 << 20)
		j.Attach(guestapi.Welcome{Epoch: 1})
		start := time.Now()
		next := func() (texts []string, after time.Duration) {
			b, err := j.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range b.Reports {
				texts = append(texts, textOf(r))
			}
			j.Acked(guestapi.Ack{Epoch: 1, N: b.Reports[len(b.Reports)-1].N})
			return texts, time.Since(start)
		}
		add := func(text string, think, now bool) {
			if err := j.AddDelta(t.Context(), run, event.Delta{Text: text, IsReasoning: think}, "chunk", []byte("{}"), now); err != nil {
				t.Fatal(err)
			}
		}
		add("first ", false, true)
		if texts, after := next(); after != 0 || len(texts) != 1 {
			t.Errorf("the first piece waited %v: %q", after, texts)
		}
		add("a ", false, false)
		add("b ", false, false)
		if texts, after := next(); after != CoalesceDelay || len(texts) != 1 || texts[0] != "a b " {
			t.Errorf("after %v: %q", after, texts)
		}
		start = time.Now()
		add("think", true, false)
		add("say", false, false)
		if texts, after := next(); after != 0 || texts[0] != "think" {
			t.Errorf("thought: after %v: %q", after, texts)
		}
		add(strings.Repeat("x", CoalesceSize), false, false)
		if texts, after := next(); after != 0 || len(texts) != 2 || texts[0] != "say" {
			t.Errorf("a full piece waited %v: %d", after, len(texts))
		}
		add("last", false, false)
		_ = j.Add(t.Context(), entryNamed("tool"))
		if texts, after := next(); after != 0 || len(texts) != 2 {
			t.Errorf("what follows did not push: after %v: %q", after, texts)
		}
	})
}

func TestRawFramesAreKept(t *testing.T) {
	j := New(1 << 20)
	for _, raw := range []string{`{"a":1}`, `{"b":2}`} {
		_ = j.AddDelta(t.Context(), run, event.Delta{Text: "x"}, "chunk", []byte(raw), false)
	}
	_ = j.Add(t.Context(), entryNamed("end"))
	j.Attach(guestapi.Welcome{Epoch: 1})
	b, err := j.Next(t.Context())
	if err != nil || string(b.Reports[0].SourceRaw) != "{\"a\":1}\n{\"b\":2}" {
		t.Errorf("%s, %v", b.Reports[0].SourceRaw, err)
	}
}

func TestBackPressureAndDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := New(3 * overhead)
		j.Attach(guestapi.Welcome{Epoch: 1})
		var done []int
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 10 {
				if err := j.Add(t.Context(), entryNamed(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
				done = append(done, i)
			}
		})
		synctest.Wait()
		if len(done) == 0 || len(done) >= 10 {
			t.Fatalf("%d reports went into a journal for about 3", len(done))
		}
		drained := false
		wg.Go(func() {
			if err := j.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			drained = true
		})
		synctest.Wait()
		if drained {
			t.Error("drained with reports left")
		}
		for got := 0; got < 10; {
			b, err := j.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = int(b.Reports[len(b.Reports)-1].N)
			j.Acked(guestapi.Ack{Epoch: 1, N: int64(got)})
			synctest.Wait()
		}
		wg.Wait()
		if !drained {
			t.Error("not drained")
		}
		full, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			if err := j.Add(full, entryNamed("x")); err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
		}
		t.Error("the journal never filled")
	})
}

func TestBatchLimits(t *testing.T) {
	j := New(1 << 30)
	j.Attach(guestapi.Welcome{Epoch: 1})
	big := entryNamed("big")
	big.SourceRaw = make([]byte, guestapi.MaxReport-len(big.Data))
	for range 20 {
		_ = j.Add(t.Context(), big)
	}
	for range 3 * guestapi.MaxBatchCount {
		_ = j.Add(t.Context(), entryNamed("small"))
	}
	total := 0
	for total < 20+3*guestapi.MaxBatchCount {
		b, err := j.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Validate(); err != nil {
			t.Fatal(err)
		}
		if body, _ := json.Marshal(b); len(body) > guestapi.MaxBatch {
			t.Fatalf("a batch of %d bytes", len(body))
		}
		total += len(b.Reports)
		j.Acked(guestapi.Ack{Epoch: 1, N: int64(total)})
	}
}
