package guest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"paddock/internal/event"
	"paddock/internal/guest/journal"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// collect gives everything that a sink has reported, which the host must accept.
func collect(t interface{ Fatalf(string, ...any) }, j *journal.Journal, n int) (reports []guestapi.Report) {
	j.Attach(guestapi.Welcome{Epoch: 1})
	for len(reports) < n {
		b, err := j.Next(context.Background())
		if err != nil {
			t.Fatalf("next: %v", err)
		}
		if err := b.Validate(); err != nil {
			t.Fatalf("the host refuses the batch: %v", err)
		}
		reports = append(reports, b.Reports...)
		j.Acked(guestapi.Ack{Epoch: 1, N: int64(len(reports))})
	}
	return reports
}

// Whatever an agent says, however much of it, fits in what the host accepts.
func TestReportsAlwaysFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"x", "\x00", "<", "\xff", "🦊", "é\"\\"}).Draw(t, "unit")
		text := strings.Repeat(unit, rapid.SampledFrom([]int{0, 1, 1000, 1 << 20}).Draw(t, "times"))
		valid := strings.ToValidUTF8(text, "?")
		raw, _ := json.Marshal(map[string]string{"x": valid})
		source := Source{Type: text, Raw: raw}
		j := journal.New(1 << 30)
		s := &sink{ctx: context.Background(), journal: j, run: id.New[id.Run]().String()}
		s.ToolStarted(event.ToolStarted{ToolCallID: text, Name: text, Kind: text, Input: raw}, source)
		s.ToolCompleted(event.ToolCompleted{ToolCallID: text, Summary: text}, source)
		s.Log(event.Log{Level: "info", Message: text, Fields: map[string]any{"x": text}}, source)
		s.Ask(guestapi.Ask{
			Key: s.NewKey(), ToolCallID: text, Action: event.ActionBash, Payload: raw,
			Details: event.AskDetails{Tool: text, Command: text, Path: text, Title: text, Question: text, Schema: raw},
		}, source)
		s.end(guestapi.End{Outcome: guestapi.EndFailed, Code: event.Internal, Text: text, Message: text, StopReason: text})
		reports := collect(t, j, 5)
		for i, want := range []guestapi.ReportType{"event", "event", "event", "ask", "end"} {
			if reports[i].Type != want {
				t.Fatalf("report %d is %s, not %s", i, reports[i].Type, want)
			}
		}
	})
}

// Text is split into reports, never inside a code point, and nothing is lost.
func TestLongDeltasAreSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringN(1, 7, -1).Draw(t, "unit"), rapid.IntRange(1, 40_000).Draw(t, "times"))
		j := journal.New(1 << 30)
		s := &sink{ctx: context.Background(), journal: j, run: id.New[id.Run]().String()}
		s.Delta(text, false, Source{Raw: []byte("{}")})
		s.end(guestapi.End{Outcome: guestapi.EndCompleted})
		var got strings.Builder
		j.Attach(guestapi.Welcome{Epoch: 1})
		for ended := false; !ended; {
			b, err := j.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range b.Reports {
				if ended = r.Type == guestapi.ReportEnd; ended {
					break
				}
				var d event.Delta
				if err := json.Unmarshal(r.Data, &d); err != nil || !utf8.ValidString(d.Text) || strings.Contains(d.Text, "\uFFFD") && !strings.Contains(text, "\uFFFD") {
					t.Fatalf("piece %.40q %v", d.Text, err)
				}
				got.WriteString(d.Text)
			}
			j.Acked(guestapi.Ack{Epoch: 1, N: b.Reports[len(b.Reports)-1].N})
		}
		if got.String() != text {
			t.Fatalf("%d bytes became %d", len(text), got.Len())
		}
	})
}

func TestAbridgedSaysSo(t *testing.T) {
	if s := abridge("rm -rf x", 100); s != "rm -rf x" {
		t.Error(s)
	}
	if s := abridge("echo é; rm -rf /", 6); s != "echo … (and 12 bytes more that are not shown)" {
		t.Error(s)
	}
}

// Signs of life become reports only where nothing else was reported for long.
func TestAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.New(1 << 20)
		s := &sink{ctx: context.Background(), journal: j, run: id.New[id.Run]().String(), last: time.Now()}
		for range 13 { // each ten seconds, for more than two minutes
			s.Alive(Source{Type: "usage_update"})
			<-time.After(10 * time.Second) // of the bubble
		}
		s.Log(event.Log{Level: "info", Message: "x"}, Source{})
		<-time.After(alivePause - 1)
		s.Alive(Source{})
		for i, r := range collect(t, j, 3) {
			if got := strings.Contains(string(r.Data), "at work"); got != (i < 2) {
				t.Errorf("report %d is %s", i, r.Data)
			}
		}
	})
}
