package screen

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"paddock/client"
)

const asksToRun = `a run.human_input_requested {"hitl_id":"h1","details":{"tool":"shell","command":"ls"}}`

func TestAnswersByKey(t *testing.T) {
	for _, c := range []struct {
		details string
		keys    []string
		want    string
	}{
		{`{"command":"ls"}`, []string{"y"}, `answer h1 HITL_OUTCOME_APPROVE "" null`},
		{`{"command":"ls"}`, []string{"s"}, `answer h1 HITL_OUTCOME_APPROVE "" for the session`},
		{`{"question":"What?"}`, []string{"s", "o", "enter"}, `answer h1 HITL_OUTCOME_APPROVE "" {"answer":"so"}`},
		{`{"command":"ls"}`, []string{"n", "enter"}, `answer h1 HITL_OUTCOME_REJECT "" null`},
		{`{"command":"ls"}`, []string{"n", "n", "o", "enter"}, `answer h1 HITL_OUTCOME_REJECT "no" null`},
		{`{"command":"ls"}`, []string{"n", "esc", "y"}, `answer h1 HITL_OUTCOME_APPROVE "" null`},
		{`{"command":"ls"}`, []string{"d"}, `answer h1 HITL_OUTCOME_DEFER "" null`},
		{`{"question":"Which?"}`, []string{"enter", "b", "enter"}, `answer h1 HITL_OUTCOME_APPROVE "" {"answer":"b"}`},
		{`{"question":"Which?"}`, []string{"b", "e", "enter"}, `answer h1 HITL_OUTCOME_APPROVE "" {"answer":"be"}`},
		{`{"question":"Sure?"}`, []string{"y", "e", "s", "enter"}, `answer h1 HITL_OUTCOME_APPROVE "" {"answer":"yes"}`},
		{`{"question":"What?"}`, []string{"a", "s", "enter"}, `answer h1 HITL_OUTCOME_APPROVE "" {"answer":"as"}`},
		{`{"question":"How many?","schema":{"properties":{"n":{"type":"integer"}}}}`, []string{"4", "2", "enter"}, `answer h1 HITL_OUTCOME_APPROVE "" {"n":42}`},
		{`{"question":"Which?"}`, []string{"n", "enter"}, `answer h1 HITL_OUTCOME_REJECT "" null`},
		{`{"question":"Which?","schema":{"properties":{"c":{"enum":["red","blue"]}}}}`, []string{"2"}, `answer h1 HITL_OUTCOME_APPROVE "" {"c":"blue"}`},
		{`{"question":"Which?","schema":{"properties":{"c":{"enum":["red","blue"]},"n":{"type":"integer"},"b":{"type":"boolean"}}}}`,
			[]string{"1", "x", "enter", "backspace", "7", "enter", "1"}, `answer h1 HITL_OUTCOME_APPROVE "" {"b":true,"c":"red","n":7}`},
	} {
		p := sit(t, 80, 24, "")
		p.happens(`a run.started {}`, `a run.human_input_requested {"hitl_id":"h1","details":`+c.details+`}`)
		p.waits(2 * time.Second)
		p.waits(2 * time.Second)
		p.press(c.keys...)
		p.did(c.want)
	}
}

// A question never takes keys that were meant for a prompt, and a key that is
// pressed as it appears does not allow anything.
func TestQuestionsDoNotStealKeys(t *testing.T) {
	p := sit(t, 80, 24, "")
	p.happens(`a run.started {}`)
	p.types("sa")
	p.happens(asksToRun)
	p.types("y")
	p.waits(5 * time.Second)
	p.types("y")
	if p.input.Value() != "sayy" || len(p.asked) > 0 {
		t.Errorf("the input is %q, the server was asked %v", p.input.Value(), p.asked)
	}
	p.press("tab", "n", "x", "esc", "tab", "esc") // looks at it and comes back
	if p.input.Value() != "sayy" {
		t.Errorf("the input is %q afterwards", p.input.Value())
	}

	p = sit(t, 80, 24, "")
	p.clock = p.clock.Add(time.Minute)
	p.happens(`a run.started {}`, asksToRun)
	p.press("y") // in the instant in which it appears
	if len(p.asked) > 0 {
		t.Errorf("the server was asked %v", p.asked)
	}
	p.waits(time.Second)
	p.press("y", "y")
	if len(p.asked) != 1 {
		t.Errorf("one answer is enough: %v", p.asked)
	}
	p.happens(`a run.human_input_received {"hitl_id":"h1","outcome":"HITL_OUTCOME_APPROVE"}`)
	p.seesNot("wants to run")
}

// What is typed as a question appears was meant for a prompt; so is what
// follows Esc.
func TestPromptsBesideAQuestion(t *testing.T) {
	p := sit(t, 80, 24, "")
	p.clock = p.clock.Add(time.Minute)
	p.happens(`a run.started {}`, `a run.human_input_requested {"hitl_id":"h1","details":{"question":"Which?"}}`)
	p.types("hi")
	p.press("enter")
	p.did(`input "hi"`)
	p.waits(2 * time.Second)
	p.press("esc")
	p.types("more")
	p.press("enter")
	p.did(`input "more"`)
}

func TestQuestionsAreFirstInFirstOut(t *testing.T) {
	p := sit(t, 80, 24, "")
	p.clock = p.clock.Add(time.Minute)
	p.happens(`a run.started {}`, asksToRun, `a run.human_input_requested {"hitl_id":"h2","details":{"tool":"shell","command":"pwd"}}`)
	p.waits(time.Second)
	p.sees("1 of 2")
	p.press("n") // and while the reason is typed, it is answered elsewhere
	p.happens(`a run.human_input_received {"hitl_id":"h1","outcome":"HITL_OUTCOME_DEFER"}`)
	p.waits(2 * time.Second)
	p.sees("pwd")
	p.press("enter") // no answer to the other question
	if len(p.asked) > 0 {
		t.Errorf("the server was asked %v", p.asked)
	}
	p.waits(2 * time.Second)
	p.press("y")
	p.did(`answer h2 HITL_OUTCOME_APPROVE "" null`)
	p.happens(`a run.human_input_received {"hitl_id":"h2","outcome":"HITL_OUTCOME_APPROVE"}`)
	p.waits(2 * time.Second)
	p.sees("Tab, then answer by a key") // what was left for later does not press
	p.press("tab")
	p.clock = p.clock.Add(time.Second)
	p.press("y")
	p.did(`answer h1 HITL_OUTCOME_APPROVE "" null`)
}

func TestWhatIsTypedIsNeverLost(t *testing.T) {
	p := sit(t, 80, 24, "")
	p.refuse = &client.Error{Status: 429, Code: "too_many_requests", Message: "32 prompts wait already"}
	p.types("one more")
	p.press("enter")
	p.sees("32 prompts wait already")
	if p.input.Value() != "one more" {
		t.Errorf("the input is %q", p.input.Value())
	}
	// A server that is away gets it when it is back, once.
	p.refuse = errors.New("no route")
	p.press("enter")
	p.sees("… one more")
	p.sees("sent when it is back")
	p.types("and this")
	p.press("enter")
	p.take(resend{})
	p.refuse = nil
	p.take(resend{})
	if n := len(p.keys); n != 5 || p.keys[1] != p.keys[2] || p.keys[2] != p.keys[3] || p.keys[3] == p.keys[4] || p.keys[0] == p.keys[1] {
		t.Errorf("the keys of the calls are %v", p.keys)
	}
	p.did(`input "and this"`)
	if len(p.outbox) > 0 || len(p.talk.Queue) != 2 {
		t.Errorf("the outbox is %v, the queue %v", p.outbox, p.talk.Queue)
	}
}

func TestInterrupts(t *testing.T) {
	p := sit(t, 80, 24, "")
	p.press("ctrl+c")
	p.sees("Ctrl-C again leaves; hello lives on")
	p.waits(armedFor + time.Second)
	p.press("ctrl+c")
	if p.quit {
		t.Fatal("the second came too late to leave")
	}
	p.waits(armedFor + time.Second)
	p.happens(`a run.started {}`)
	p.press("ctrl+c")
	p.did("cancel a")
	p.sees("cancelling")
	p.happens(`a run.failed {"cancelled":true,"message":"by ann"}`)
	p.seesNot("cancelling")
	p.waits(armedFor + time.Second)
	p.press("ctrl+c", "ctrl+c")
	if !p.quit || p.ending != Detached {
		t.Errorf("quit %v, ending %q", p.quit, p.ending)
	}

	p = sit(t, 80, 24, "")
	p.types("x")
	p.press("ctrl+d")
	if p.quit {
		t.Error("Ctrl-D leaves what was typed")
	}
	p.press("backspace", "ctrl+d")
	if !p.quit {
		t.Error("Ctrl-D does not leave")
	}
}

func TestQueuedPromptsAreTakenBack(t *testing.T) {
	p := sit(t, 80, 24, "")
	p.happens(`a run.started {}`)
	p.runs = []client.Run{{RunID: "c", State: client.RunQueued, Text: "second"}, {RunID: "b", State: client.RunQueued, Text: "first"}}
	p.take(p.refresh()())
	p.press("ctrl+x")
	p.did("cancel c")
	if p.input.Value() != "second" {
		t.Errorf("the input is %q", p.input.Value())
	}
	p.setInput("")
	p.press("tab", "up", "x")
	p.did("cancel b")
}

func TestRecall(t *testing.T) {
	p := sit(t, 80, 24, "")
	p.happens(`a run.started {"text":"first"}`, `a run.completed`, `b run.started {"text":"second"}`, `b run.completed`)
	p.types("new")
	for i, c := range []struct{ key, want string }{
		{"up", "second"}, {"up", "first"}, {"up", "first"}, {"down", "second"}, {"down", "new"}, {"down", "new"},
	} {
		p.press(c.key)
		if p.input.Value() != c.want {
			t.Errorf("key %d, %s: %q, want %q", i, c.key, p.input.Value(), c.want)
		}
	}
	p.press("alt+enter")
	p.types("line")
	p.press("enter")
	p.did(`input "new\nline"`)
}

// Who reads back stays where they are, whatever comes.
func TestReadingBack(t *testing.T) {
	p := sit(t, 60, 16, "")
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %d\\n", i)
	}
	p.happens(`a run.started {"text":"count"}`, `a run.token_delta {"text":"`+text.String()+`"}`)
	p.sees("line 99")
	p.press("pgup", "pgup")
	before := strings.Join(strings.Split(p.shown(), "\n")[:8], "\n")
	p.happens(`a run.token_delta {"text":"more\nand more\n"}`)
	if after := strings.Join(strings.Split(p.shown(), "\n")[:8], "\n"); after != before {
		t.Errorf("what is read moved: from\n%s\nto\n%s", before, after)
	}
	p.take(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	p.sees("below; PgDn")
	p.press("esc")
	p.sees("and more")

	// The past goes in front, and nothing in sight moves.
	for range 20 {
		p.press("pgup")
	}
	p.sees("› count")
	p.take(past{before: p.talk.First(), events: nil})
	p.sees("› count")
}

func TestUnfolding(t *testing.T) {
	p := sit(t, 80, 24, "")
	p.press("tab")
	p.sees("nothing to unfold yet")
	p.happens(`a run.started {}`,
		`a run.tool_call_started {"tool_call_id":"1","name":"shell","input":{"command":"ls"}}`,
		`a run.tool_call_completed {"tool_call_id":"1","ok":true,"summary":"first output"}`,
		`a run.tool_call_started {"tool_call_id":"2","name":"shell","input":{"command":"pwd"}}`,
		`a run.tool_call_completed {"tool_call_id":"2","ok":true,"summary":"second output"}`)
	p.press("ctrl+o")
	p.sees("second output")
	p.seesNot("first output")
	p.press("ctrl+o", "tab", "up", "enter")
	p.sees("first output")
	p.seesNot("second output")
	p.press("a")
	p.sees("second output")
	p.press("a")
	p.seesNot("output")
	p.take(tea.MouseClickMsg{X: 5, Y: 2, Button: tea.MouseLeft})
	p.sees("first output")
}

func TestEndings(t *testing.T) {
	for event, want := range map[string]Ending{
		`- session.updated {"status":"SESSION_STATUS_DESTROYING"}`:              Gone,
		`- session.updated {"status":"SESSION_STATUS_FAILED","message":"lost"}`: Gone,
		`- session.updated {"status":"SESSION_STATUS_PAUSED"}`:                  "",
	} {
		p := sit(t, 80, 24, "")
		p.happens(event)
		if p.ending != want || p.quit != (want != "") {
			t.Errorf("%s: ending %q, quit %v", event, p.ending, p.quit)
		}
	}
	p := sit(t, 80, 24, "")
	p.take(endMsg{errors.New("unauthorized")})
	if p.ending != Lost || !p.quit {
		t.Errorf("ending %q", p.ending)
	}
}

// A session of ten thousand lines and a thousand tools is no effort to look at.
func TestLongSessionsStayFast(t *testing.T) {
	p := sit(t, 80, 24, "")
	var lines []string
	for i := range 1000 {
		lines = append(lines,
			fmt.Sprintf(`a run.tool_call_started {"tool_call_id":"%d","name":"shell","input":{"command":"ls"}}`, i),
			fmt.Sprintf(`a run.tool_call_completed {"tool_call_id":"%d","ok":true,"summary":"%s"}`, i, strings.Repeat("output\\n", 20)))
	}
	lines = append(lines, `a run.token_delta {"text":"`+strings.Repeat("a line of output\\n", 10_000)+`"}`)
	p.happens(lines...)
	began := time.Now()
	for range 100 {
		p.happens(`a run.token_delta {"text":"more\n"}`)
		p.View()
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("100 pieces took %v", took)
	} else {
		t.Logf("100 pieces took %v", took)
	}
}

// Whatever the size, the input is there and nothing is too wide.
func TestAnySize(t *testing.T) {
	for _, scene := range scenes {
		for width := 10; width < 100; width += 13 {
			for height := 3; height < 30; height += 4 {
				p := sit(t, width, height, "")
				scene(p)
				if got := strings.Count(p.View().Content, "\n") + 1; got > height {
					t.Errorf("%d×%d: %d lines", width, height, got)
				}
			}
		}
	}
}
