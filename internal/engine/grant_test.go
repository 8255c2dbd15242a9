package engine

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/notify"
	"paddock/internal/session"
)

// A grant lets the very same pass, says so in the history, tells the agent of
// this once only, outlives the server and a pause, never covers more, and ends
// when it is revoked.
func TestGrant(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	m.asks(t, run, "k1", "make test")
	a := h.pending(v, 1)[0]
	given := Answer{Outcome: approval.OutcomeApprove, Actor: "me", ForSession: true}
	for range 2 { // the same answer again changes nothing
		if err := h.Answer(ctx, h.team, v.Name, a.ID.String(), given); err != nil {
			t.Fatal(err)
		}
	}
	wantFault(t, h.Answer(ctx, h.team, v.Name, a.ID.String(), Answer{Outcome: approval.OutcomeApprove}), fault.Conflict, "already approved")
	grants, err := h.Grants(ctx, h.team, v.Name)
	if err != nil || len(grants) != 1 || grants[0].Approval != a.ID || grants[0].Actor != "me" {
		t.Fatal(grants, err)
	}
	h.allowed(m)

	m.asks(t, run, "k2", "make test") // with another description
	h.allowed(m)
	h.pending(v, 0)
	if got := h.received(v); len(got) != 1 || got[0].GrantID != grants[0].ID.String() {
		t.Errorf("answered is %+v", got)
	}
	if got := h.logs(v); len(got) != 1 || got[0].Fields["grant_id"] != grants[0].ID.String() || got[0].Fields["detail"] != "make test" ||
		!strings.HasPrefix(got[0].Message, "allowed by "+grants[0].ID.String()+": ") || !strings.HasSuffix(got[0].Message, "make test; me approved it for the rest of the session") {
		t.Errorf("the history says %+v", got)
	}
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	h.waitRun(v, run, session.RunCompleted)

	if _, err := h.Pause(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	h.stop()
	h.start()
	run = h.input(v, "two") // resumes it
	<-m.guest.prompts
	m.asks(t, run, "k3", "make test; rm -rf /")
	h.pending(v, 1)
	m.asks(t, run, "k4", "make test")
	h.allowed(m)
	h.pending(v, 1)

	for range 2 {
		if err := h.RevokeGrant(ctx, h.team, v.Name, grants[0].ID.String(), "you"); err != nil {
			t.Fatal(err)
		}
	}
	m.asks(t, run, "k5", "make test")
	h.pending(v, 2)
	if left, err := h.Grants(ctx, h.team, v.Name); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
	revoked := 0
	for _, l := range h.logs(v) {
		if strings.HasPrefix(l.Message, "you revoked a grant") {
			revoked++
		}
	}
	if revoked != 1 {
		t.Errorf("%d log entries, want one of the revoked grant", revoked)
	}
	wantFault(t, h.RevokeGrant(ctx, h.team, v.Name, a.ID.String(), "you"), fault.NotFound, "no grant")
}

// allowed waits until the guest is told to go on, with nothing but that.
func (h *house) allowed(m *stubMachine) {
	h.t.Helper()
	if a := <-m.guest.answers; a.Decision != guestapi.Allow || a.Content != nil || a.Input != nil {
		h.t.Fatalf("the guest was told %+v", a)
	}
}

func TestGrantIsRefused(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k1", Action: event.ActionUnspecified, Details: event.AskDetails{Tool: "shell", Kind: "execute", Command: "ls"}})
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k2", Action: event.ActionUnspecified, Details: event.AskDetails{Question: "Which colour?"}})
	for _, a := range h.pending(v, 2) {
		err := h.Answer(ctx, h.team, v.Name, a.ID.String(), Answer{Outcome: approval.OutcomeApprove, ForSession: true})
		wantFault(t, err, fault.Unprocessable, "approve it once")
		err = h.Answer(ctx, h.team, v.Name, a.ID.String(), Answer{Outcome: approval.OutcomeReject, ForSession: true})
		wantFault(t, err, fault.BadRequest, "HITL_OUTCOME_APPROVE only")
	}
	h.pending(v, 2)
}

// Several questions wait at once, in the order in which they were asked; each is
// answered on its own, and the run goes on with the last.
func TestSeveralApprovals(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	commands := []string{"one", "two", "three"}
	for _, c := range commands {
		m.asks(t, run, c, c)
	}
	open := h.pending(v, 3)
	for i, a := range open {
		if a.Asked.Details.Command != commands[i] {
			t.Errorf("%s is asked as %d", a.Asked.Details.Command, i)
		}
	}
	edited := Answer{Outcome: approval.OutcomeApprove, Input: []byte(` {"command": "two --dry-run"}`)}
	for _, step := range []struct {
		which  int
		answer Answer
	}{{1, edited}, {2, Answer{Outcome: approval.OutcomeReject, Reason: "no"}}, {0, Answer{Outcome: approval.OutcomeApprove}}} {
		h.waitRun(v, run, session.RunAwaiting)
		if err := h.Answer(ctx, h.team, v.Name, open[step.which].ID.String(), step.answer); err != nil {
			t.Fatal(err)
		}
		told := <-m.guest.answers
		if want := step.answer.Outcome == approval.OutcomeApprove; (told.Decision == guestapi.Allow) != want || told.Reason != step.answer.Reason {
			t.Errorf("the guest was told %+v", told)
		}
		if step.which == 1 && string(told.Input) != `{"command":"two --dry-run"}` {
			t.Errorf("the edited input is %s", told.Input)
		}
	}
	h.waitRun(v, run, session.RunRunning)
	if err := h.Answer(ctx, h.team, v.Name, open[1].ID.String(), edited); err != nil {
		t.Errorf("the same edit again: %v", err)
	}
	other := Answer{Outcome: approval.OutcomeApprove, Input: []byte(`{"command":"two"}`)}
	wantFault(t, h.Answer(ctx, h.team, v.Name, open[1].ID.String(), other), fault.Conflict, "already approved")
	if got := h.received(v); string(got[0].Input) != `{"command":"two --dry-run"}` {
		t.Errorf("the history says %+v", got[0])
	}

	m.guest.stayAway(true) // a guest whose connection was lost is told again
	m.guest.stayAway(false)
	told := map[string]int{} // one whose acknowledgement went with the connection, twice
	for len(told) < 3 {
		a := <-m.guest.answers
		told[string(a.Decision)+string(a.Input)]++
	}
	if told["allow"] == 0 || told["deny"] == 0 || told[`allow{"command":"two --dry-run"}`] == 0 {
		t.Errorf("after the loss the guest was told %v", told)
	}
}

// A person may not give a tool what the policy denies it.
func TestEditedInputIsHeldAgainstThePolicy(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t)
	v, m, run := h.working(demoSpec + "permissions: {default: ask, rules: [{tool: bash, match: {command: 'rm *'}, action: deny}, {tool: file.write, match: {path: '/etc/**'}, action: deny}]}\n")
	m.asks(t, run, "k1", "ls")
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k2", Action: event.ActionUnspecified, Details: event.AskDetails{
		Tool: "write", Kind: "edit", Path: "a", Input: []byte(`{"path":"a"}`), Editable: true,
	}})
	open := h.pending(v, 2)
	for i, inputs := range [][]string{{`{"command":"ls; rm -r /"}`, `{"command":"ls -l"}`}, {`{"path":"../etc/passwd"}`, `{"path":"b"}`}} {
		aid := open[i].ID.String()
		err := h.Answer(ctx, h.team, v.Name, aid, Answer{Outcome: approval.OutcomeApprove, Input: []byte(inputs[0])})
		wantFault(t, err, fault.Unprocessable, "the policy denies that input")
		if err := h.Answer(ctx, h.team, v.Name, aid, Answer{Outcome: approval.OutcomeApprove, Input: []byte(inputs[1])}); err != nil {
			t.Error(err)
		}
	}
}

func TestEditedInputIsRefused(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k", Action: event.ActionUnspecified, Details: event.AskDetails{Tool: "shell", Command: "ls"}})
	a := h.pending(v, 1)[0].ID.String()
	answer := func(a Answer) Answer { a.Input = []byte(`{}`); return a }
	wantFault(t, h.Answer(ctx, h.team, v.Name, a, answer(Answer{Outcome: approval.OutcomeApprove})), fault.Unprocessable, "no other input")
	wantFault(t, h.Answer(ctx, h.team, v.Name, a, answer(Answer{Outcome: approval.OutcomeReject})), fault.BadRequest, "HITL_OUTCOME_APPROVE only")
	wantFault(t, h.Answer(ctx, h.team, v.Name, a, answer(Answer{Outcome: approval.OutcomeApprove, ForSession: true})), fault.BadRequest, "approved once")
	wantFault(t, h.Answer(ctx, h.team, v.Name, a, Answer{Outcome: approval.OutcomeApprove, Input: []byte(`["ls"]`)}), fault.BadRequest, "JSON object")
	h.pending(v, 1)
}

// What waits in any session is found for who attaches late: what was answered is
// not among it, and what the recent history has is left to that.
func TestWaiting(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	for _, c := range []string{"one", "two", "three"} {
		m.asks(t, run, c, c)
	}
	open := h.pending(v, 3)
	if err := h.Answer(ctx, h.team, v.Name, open[1].ID.String(), Answer{Outcome: approval.OutcomeReject}); err != nil {
		t.Fatal(err)
	}
	team, err := h.TeamFeed(ctx, h.team)
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	own, err := h.Feed(ctx, h.team, v.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for name, feed := range map[string]interface {
		Waiting(ctx context.Context, upTo int64, raw bool) ([]event.Event, error)
		Place(e event.Event) int64
		Last() int64
	}{"of the team": team, "of the session": own} {
		waiting, err := feed.Waiting(ctx, feed.Last(), false)
		if err != nil || len(waiting) != 2 || !strings.Contains(string(waiting[0].Data), open[0].ID.String()) || !strings.Contains(string(waiting[1].Data), open[2].ID.String()) {
			t.Fatalf("%s: %v %v", name, waiting, err)
		}
		if before, err := feed.Waiting(ctx, feed.Place(waiting[1])-1, false); err != nil || len(before) != 1 {
			t.Errorf("%s: before the last there are %v %v", name, before, err)
		}
	}
}

// Of many answers at once exactly one counts, and who gave the same is content.
func TestAnsweredOnce(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	m.asks(t, run, "k", "ls")
	a := h.pending(v, 1)[0].ID.String()
	outcomes := []approval.Outcome{approval.OutcomeApprove, approval.OutcomeReject}
	var wg sync.WaitGroup
	results := make([]error, 20)
	for i := range results {
		wg.Go(func() {
			results[i] = h.Answer(ctx, h.team, v.Name, a, Answer{Outcome: outcomes[i%2], Actor: "somebody"})
		})
	}
	wg.Wait()
	got := h.received(v)
	if len(got) != 1 {
		t.Fatalf("the history says %+v", got)
	}
	for i, err := range results {
		if won := string(outcomes[i%2]) == got[0].Outcome; won && err != nil || !won && !fault.Is(err, fault.Conflict) {
			t.Errorf("answer %s: %v, but it was decided %s", outcomes[i%2], err, got[0].Outcome)
		}
	}
	if told := <-m.guest.answers; (told.Decision == guestapi.Allow) != (got[0].Outcome == string(approval.OutcomeApprove)) {
		t.Errorf("the guest was told %+v", told)
	}
}

// What is filled into a form is nowhere on the disk.
func TestFormContentIsNotStored(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	h := newHouseWith(t, func(h *house) { h.notify = []notify.Channel{&receiver{down: true}} })
	v, m, run := h.working(demoSpec)
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k", Action: event.ActionUnspecified, Details: event.AskDetails{Question: "Which password?"}})
	a := h.pending(v, 1)[0].ID.String()
	err := h.Answer(context.Background(), h.team, v.Name, a, Answer{Outcome: approval.OutcomeApprove, Content: map[string]any{"answer": secret}})
	if err != nil {
		t.Fatal(err)
	}
	if told := <-m.guest.answers; told.Content["answer"] != secret {
		t.Fatalf("the guest was told %+v", told)
	}
	err = filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s has it", path)
		}
		if !bytes.Contains(b, []byte("Which password?")) && filepath.Base(path) == "paddock.db-wal" {
			t.Errorf("%s does not even have the question", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTeamApprovals(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	for _, c := range []string{"one", "two", "three"} {
		m.asks(t, run, c, c)
	}
	open := h.pending(v, 3)
	var got []TeamApproval
	for token := ""; ; {
		page, next, err := h.TeamApprovals(ctx, h.team, true, 2, token)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page...)
		if token = next; token == "" {
			break
		}
	}
	if len(got) != 3 || got[2].ID != open[2].ID || got[0].SessionName != v.Name {
		t.Errorf("listed are %+v", got)
	}
	_, _, err := h.TeamApprovals(ctx, h.team, true, 2, "nonsense")
	wantFault(t, err, fault.BadRequest, "page_token")
}
