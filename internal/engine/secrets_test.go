package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/redaction"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
)

const (
	plainValue    = "s3cret-plain-value"
	brokeredValue = "s3cret-brokered-value"
	withSecrets   = "agent: demo\nenv: {COLOUR: blue}\nsecrets:\n  PLAIN: s3cret-plain-value\n  KEY: {value: s3cret-brokered-value, host: api.example.com, header: authorization}\negress: [example.org]\n"
)

var placeholder = regexp.MustCompile(`^paddock-secret-[a-z2-7]{32}$`)

// checkSecrets checks what a machine and its guest have of withSecrets, and gives
// the placeholder.
func (h *house) checkSecrets(m *stubMachine) string {
	h.t.Helper()
	var env map[string]string
	eventually(h.t, "the guest is configured", func() bool { env = m.guest.environ(); return env != nil })
	m.mu.Lock()
	secrets, rules := m.secrets, m.rules
	m.mu.Unlock()
	if env["COLOUR"] != "blue" || env["PLAIN"] != plainValue || !placeholder.MatchString(env["KEY"]) {
		h.t.Errorf("the guest has %v", env)
	}
	want := []sandbox.Brokered{{Name: "KEY", Host: "api.example.com", Header: "Authorization", Placeholder: env["KEY"], Value: brokeredValue}}
	if !reflect.DeepEqual(secrets, want) {
		h.t.Errorf("the machine's gate has %v of %s, not %v", secrets, secrets[0].Placeholder, want)
	}
	if !reflect.DeepEqual(rules.Hosts, []string{"example.org", "api.example.com"}) {
		h.t.Errorf("it may connect to %v", rules.Hosts)
	}
	return env["KEY"]
}

// unstored checks that no file of the server has a value.
func (h *house) unstored() {
	h.t.Helper()
	err := filepath.WalkDir(h.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, value := range []string{plainValue, brokeredValue} {
			for _, form := range []string{value, value[:len(value)-2], base64.StdEncoding.EncodeToString([]byte(value))[:20]} {
				if bytes.Contains(text, []byte(form)) {
					h.t.Errorf("%s has %q in it", path, form)
				}
			}
		}
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// Secrets come to the machine, whether it is started or claimed, and again to the
// machine that a later server takes up or starts.
func TestSecretsReachTheMachine(t *testing.T) {
	for name, pool := range map[string]int{"started": 0, "claimed": 1} {
		t.Run(name, func(t *testing.T) {
			h := newHouseWith(t, func(h *house) { h.pool, h.free, h.points, h.haste = pool, plenty, true, true })
			h.waitSpares(pool)
			v := h.create(withSecrets)
			m := h.driver.machine(t, v)
			first := h.checkSecrets(m)
			h.unstored()
			h.kill()
			m.guest.forget()
			h.start()
			if again := h.checkSecrets(m); again != first {
				t.Errorf("the placeholder was %s, and is %s", first, again)
			}
			other, _, err := h.CreateSession(context.Background(), h.team, CreateRequest{Environment: v.Environment.String(), Name: "other"})
			if err != nil {
				t.Fatal(err)
			}
			h.waitState(other.ID, session.Ready)
			if again := h.checkSecrets(h.driver.machine(t, other)); again != first {
				t.Errorf("in another session of the environment the placeholder is %s, not %s", again, first)
			}
			h.savedTurn(v, m, "text")
			m.end("test")
			eventually(t, "the session is restored", func() bool {
				s, err := h.store.SessionByID(context.Background(), v.ID)
				return err == nil && s.State == session.Ready && s.Memory == "lost:killed"
			})
			if again := h.checkSecrets(h.driver.machine(t, v)); again != first {
				t.Errorf("the placeholder of the restored machine is %s, not %s", again, first)
			}
			h.unstored()
		})
	}
}

// Two values are two environments, and the same is one; who has the store alone
// cannot tell which value it is.
func TestSecretsCountAsContent(t *testing.T) {
	h := newHouse(t)
	first := h.environment("bot", "agent: demo\nsecrets: {A: value-1}\n")
	if again := h.environment("bot", "secrets: [{value: value-1, name: A}]\nagent: demo\n"); again.ID != first.ID {
		t.Error("the same secret is stored twice")
	}
	other := h.environment("bot", "agent: demo\nsecrets: {A: value-2}\n")
	if other.ID == first.ID || other.ContentHash == first.ContentHash {
		t.Error("another value is the same environment")
	}
	bare, err := first.Spec.ContentHash()
	if err != nil || bare == first.ContentHash {
		t.Error("the content is known by a digest without a key")
	}
	if err := h.RemoveEnvironment(context.Background(), h.team, first.ID.String()); err != nil {
		t.Fatal(err)
	}
	if left, err := h.store.Environment(context.Background(), first.ID); err != nil || left.Sealed != nil {
		t.Errorf("a removed environment keeps %q, %v", left.Sealed, err)
	}
	h.vault = nil
	if _, err := h.CreateEnvironment(context.Background(), h.team, EnvironmentRequest{Name: "bot", Spec: []byte(withSecrets)}); !fault.Is(err, fault.NotSupported) {
		t.Errorf("without a key: %v", err)
	}
}

// Whatever a guest says, no value of a secret gets into the history, the approvals
// or the runs.
func TestReportsAreVeiled(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(withSecrets)
	g := m.guest
	encoded := base64.StdEncoding.EncodeToString([]byte("user:" + plainValue))
	g.report(t, run, guestapi.ReportEvent, event.RunLog, event.Log{Level: "info", Message: "log " + plainValue, Fields: map[string]any{brokeredValue: encoded}})
	g.report(t, run, guestapi.ReportEvent, event.ToolCallStarted, event.ToolStarted{ToolCallID: "1", Name: "bash " + plainValue, Input: []byte(`{"command":"curl -u x:` + plainValue + `"}`)})
	g.reportRaw(t, run, event.ToolCallCompleted, event.ToolCompleted{ToolCallID: "1", Summary: "got\n" + plainValue + "\n" + encoded}, []byte("no JSON "+brokeredValue))
	g.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k1", Action: event.ActionBash, Details: event.AskDetails{
		Tool: "bash", Kind: "execute", Command: "echo " + plainValue, Input: []byte(`{"command":"echo ` + plainValue + `"}`), Editable: true,
	}, Payload: []byte(`{"v":"` + brokeredValue + `"}`)})
	asked := h.pending(v, 1)[0]
	if asked.Asked.Details.Command != "echo [redacted PLAIN]" || strings.Contains(string(asked.Asked.Payload), brokeredValue) {
		t.Errorf("%+v", asked)
	}
	edit := Answer{Outcome: approval.OutcomeApprove, Input: []byte(`{"command":"echo [redacted PLAIN] | wc"}`)}
	if err := h.Answer(context.Background(), h.team, v.ID.String(), asked.ID.String(), edit); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("what stands for a value is given to the tool: %v", err)
	}
	if err := h.Answer(context.Background(), h.team, v.ID.String(), asked.ID.String(), Answer{Outcome: approval.OutcomeApprove, ForSession: true}); err != nil {
		t.Fatal(err)
	}
	g.endTurn(t, run, guestapi.End{Outcome: guestapi.EndFailed, Code: event.ToolError, Message: "it broke at " + plainValue})
	if r := h.waitRun(v, run, session.RunFailed); r.Failure.Message != "it broke at [redacted PLAIN]" {
		t.Errorf("%+v", r.Failure)
	}
	all, err := h.store.Events(context.Background(), v.ID, store.EventPage{Raw: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		for _, value := range []string{plainValue, brokeredValue, encoded[8:24]} {
			if strings.Contains(string(e.Data)+string(e.SourceRaw), value) {
				t.Errorf("%s has %q: %s %s", e.Kind, value, e.Data, e.SourceRaw)
			}
		}
	}
	h.unstored()
}

// The policy decides what would be done, not what is shown of it.
func TestPolicySeesWhatIsHidden(t *testing.T) {
	h := newHouse(t)
	_, m, run := h.working("agent: demo\nsecrets: {A: 'x; rm -rf y'}\npermissions: {default: allow, rules: [{tool: bash, match: {command: 'rm *'}, action: deny}]}\n")
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k1", Action: event.ActionBash, Details: event.AskDetails{Tool: "bash", Kind: "execute", Command: "echo x; rm -rf y"}})
	if a := <-m.guest.answers; a.Decision != guestapi.Deny || strings.Contains(a.Reason, "rm -rf y") {
		t.Errorf("%+v", a)
	}
}

func decode[T any](t *testing.T, e event.Event) (payload T) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &payload); err != nil {
		t.Fatal(err)
	}
	return payload
}

// texts gives the agent's text so far, a piece an event.
func (h *house) texts(v View) (pieces []string) {
	h.t.Helper()
	for _, e := range h.history(v) {
		if e.Kind == event.TokenDelta {
			pieces = append(pieces, decode[event.Delta](h.t, e).Text)
		}
	}
	return pieces
}

// A value that comes in pieces is hidden too, also over a crash between them; and
// nothing of the text is lost.
func TestStreamsAreVeiled(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(withSecrets)
	want := func(pieces ...string) {
		t.Helper()
		if got := h.texts(v); !reflect.DeepEqual(got, pieces) {
			t.Errorf("the text is %q, want %q", got, pieces)
		}
	}
	m.guest.say(t, run, "it is s3cret-")
	want("it is ")
	h.unstored()
	h.kill()
	h.start()
	m.guest.say(t, run, "pla")
	m.guest.say(t, run, "in-value, s")
	want("it is ", "[redacted PLAIN], ")
	m.guest.report(t, run, guestapi.ReportEvent, event.ToolCallStarted, event.ToolStarted{ToolCallID: "1", Name: "bash"})
	want("it is ", "[redacted PLAIN], ", "s")
	m.guest.say(t, run, "end s3c")
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted, Text: "all of it: s3cret-plain-va"})
	h.waitRun(v, run, session.RunCompleted)
	want("it is ", "[redacted PLAIN], ", "s", "end ", "s3c")
	events := h.history(v)
	if end := decode[event.Completed](t, events[len(events)-1]); end.Text != "all of it: [redacted PLAIN]" {
		t.Errorf("the answer is %q", end.Text)
	}
	h.unstored()
}

// A native frame is kept unless another one completes the value in it.
func TestFramesOfStreams(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(withSecrets)
	for _, text := range []string{"a s3", "cret-pla", "in-value", "b"} {
		m.guest.reportRaw(t, run, event.TokenDelta, event.Delta{Text: text}, []byte(`{"t":"`+text+`"}`))
	}
	var frames []string
	all, err := h.store.Events(context.Background(), v.ID, store.EventPage{Raw: true, Kinds: []event.Kind{event.TokenDelta}})
	for _, e := range all {
		frames = append(frames, string(e.SourceRaw))
	}
	if want := []string{`{"t":"a s3"}`, "", `{"t":"b"}`}; err != nil || !reflect.DeepEqual(frames, want) {
		t.Errorf("%q, %v", frames, err)
	}
}

// What is held back of a text that stands still is shown after a while, as is
// what a run that is ended from outside held back.
func TestHeldTextIsShown(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(withSecrets)
	m.guest.say(t, run, "it is s3c")
	begin := time.Now()
	h.setClock(begin.Add(time.Second))
	h.tick(h.now())
	if got := h.texts(v); len(got) != 1 {
		t.Errorf("shown too soon: %q", got)
	}
	h.setClock(begin.Add(heldPatience + time.Minute))
	h.tick(h.now())
	eventually(t, "the rest is shown", func() bool { return strings.Join(h.texts(v), "|") == "it is |s3c" })
	m.guest.say(t, run, "ret-plain-value. Then s")
	if got := strings.Join(h.texts(v), "|"); got != "it is |s3c|[redacted PLAIN]. Then " {
		t.Errorf("it goes on as %q", got)
	}
	m.end("killed")
	h.waitRun(v, run, session.RunFailed)
	if got := strings.Join(h.texts(v), "|"); got != "it is |s3c|[redacted PLAIN]. Then |s" {
		t.Errorf("it ends as %q", got)
	}
}

// What cannot be unsealed hides nothing, and keeps nobody from removing a session.
func TestDamagedSecrets(t *testing.T) {
	h := newHouse(t)
	env := h.environment("bot", withSecrets)
	env.ID, env.Name = id.New[id.Environment](), "damaged" // sealed for another one
	if err := h.store.Update(context.Background(), func(tx store.Tx) error { return tx.SaveEnvironment(env) }); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.CreateSession(context.Background(), h.team, CreateRequest{Environment: env.ID.String(), Name: "one"}); err == nil || strings.Contains(err.Error(), plainValue) {
		t.Errorf("a session was made: %v", err)
	}
	if veil, err := h.veil(context.Background(), h.store, env.ID); err != nil || veil != (*redaction.Veil)(nil) {
		t.Errorf("%v, %v", veil, err)
	}
}

// What a named exec wrote is given again as it was, and stored sealed.
func TestReceiptsOfExecsAreSealed(t *testing.T) {
	h := newHouse(t)
	v := h.create(withSecrets)
	h.driver.only(t).guest.onExec = func(context.Context) (guestapi.ExecProgress, error) {
		return guestapi.ExecProgress{Stdout: []byte(plainValue), Exit: &guestapi.ExecExit{}, StdoutEOF: true, StderrEOF: true}, nil
	}
	exec := func() string {
		t.Helper()
		once := Once[ExecResult]{Key: "key", Request: "request", Answer: func(r ExecResult) store.Answer { return store.Answer{Status: 200, Body: r.Stdout} }}
		r, err := h.Exec(context.Background(), h.team, v.ID.String(), ExecRequest{Argv: []string{"x"}, Once: once})
		var again *Replayed
		if errors.As(err, &again) {
			return "again " + string(again.Answer.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Stdout)
	}
	if got := exec(); got != plainValue {
		t.Errorf("it wrote %q", got)
	}
	h.kill()
	h.start()
	if got := exec(); got != "again "+plainValue {
		t.Errorf("the second time: %q", got)
	}
	h.unstored()
}

// The agent is given what a person writes; nobody is shown a value in it, and it is
// not kept after the run.
func TestInputsAreVeiled(t *testing.T) {
	h := newHouse(t)
	v := h.create(withSecrets)
	m := h.driver.only(t)
	run := h.input(v, "it is "+plainValue)
	<-m.guest.prompts
	if got, err := h.store.Run(context.Background(), v.ID, run); err != nil || got.Text != "it is "+plainValue { // which the guest is given
		t.Errorf("%q, %v", got.Text, err)
	}
	shown := func() {
		t.Helper()
		one, err := h.Run(context.Background(), h.team, v.ID.String(), run.String())
		if err != nil || one.Text != "it is [redacted PLAIN]" {
			t.Errorf("%q, %v", one.Text, err)
		}
		all, _, err := h.Runs(context.Background(), h.team, v.ID.String(), 0, "")
		if err != nil || len(all) != 1 || all[0].Text != "it is [redacted PLAIN]" {
			t.Errorf("%+v, %v", all, err)
		}
	}
	shown()
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	h.waitRun(v, run, session.RunCompleted)
	shown()
	if kept, err := h.store.Run(context.Background(), v.ID, run); err != nil || strings.Contains(kept.Text, plainValue) {
		t.Errorf("%q, %v", kept.Text, err)
	}
}

// What a person answers is shown without the values in it.
func TestAnswersAreVeiled(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(withSecrets)
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k1", Action: event.ActionBash, Details: event.AskDetails{Tool: "bash", Kind: "execute", Command: "ls"}})
	asked := h.pending(v, 1)[0]
	no := Answer{Outcome: approval.OutcomeReject, Reason: "no " + plainValue}
	if err := h.Answer(context.Background(), h.team, v.ID.String(), asked.ID.String(), no); err != nil {
		t.Fatal(err)
	}
	one, err := h.Approvals(context.Background(), h.team, v.ID.String(), false)
	if err != nil || len(one) != 1 || one[0].Reason != "no [redacted PLAIN]" {
		t.Errorf("%+v, %v", one, err)
	}
	all, _, err := h.TeamApprovals(context.Background(), h.team, false, 0, "")
	if err != nil || len(all) != 1 || all[0].Reason != "no [redacted PLAIN]" {
		t.Errorf("%+v, %v", all, err)
	}
}
