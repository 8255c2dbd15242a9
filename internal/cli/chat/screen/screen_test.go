package screen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"paddock/client"
)

var update = flag.Bool("update", false, "write the golden screens anew")

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// person is somebody at a chat whose server is played.
type person struct {
	*Model
	t     *testing.T
	clock time.Time
	seq   int64

	keys   []string // of prompts sent
	asked  []string // what was asked of the server
	refuse error    // what it answers, if not nil
	runs   []client.Run
	status client.Session
	past   []client.Event
	quit   bool
}

func sit(t *testing.T, width, height int, prompt string) *person {
	t.Helper()
	p := &person{t: t, clock: noon, status: client.Session{
		SessionID: "sess_1", Name: "hello", Adapter: "demo", Status: client.SessionReady, AcceptsInput: true,
	}}
	p.Model = newModel(Config{API: p, Session: p.status, Prompt: prompt, Now: func() time.Time { return p.clock }, Explain: error.Error},
		func(c call) tea.Cmd { return func() tea.Msg { return c(context.Background()) } },
		func(time.Duration, tea.Msg) tea.Cmd { return nil }) // time goes by in waits and nowhere else
	p.play(p.Init())
	p.take(tea.WindowSizeMsg{Width: width, Height: height})
	p.take(streamMsg{State: live})
	return p
}

// take gives the model a message and plays what follows.
func (p *person) take(msg tea.Msg) {
	_, cmd := p.Update(msg)
	p.play(cmd)
}

func (p *person) play(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.QuitMsg:
		p.quit = true
	case tea.BatchMsg:
		for _, c := range msg {
			p.play(c)
		}
	case answer:
		p.take(msg)
	}
}

// happens adds events "run type {data}", a second apart.
func (p *person) happens(lines ...string) {
	p.t.Helper()
	p.take(eventsMsg(p.events(lines...)))
}

func (p *person) events(lines ...string) []client.Event {
	var list []client.Event
	for _, line := range lines {
		run, rest, _ := strings.Cut(line, " ")
		kind, data, _ := strings.Cut(rest, " ")
		if data == "" {
			data = "{}"
		}
		if !json.Valid([]byte(data)) {
			p.t.Fatalf("%s is not JSON", data)
		}
		p.seq++
		p.clock = p.clock.Add(time.Second)
		list = append(list, client.Event{
			EventID: fmt.Sprintf("evt_%04d", p.seq), Seq: p.seq, RunID: strings.Trim(run, "-"), Type: kind,
			Data: json.RawMessage(data), Timestamp: p.clock,
		})
	}
	return list
}

// press presses keys by their names; anything else is typed.
func (p *person) press(keys ...string) {
	for _, k := range keys {
		p.take(pressed(k))
	}
}

var keys = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt},
	"backspace": {Code: tea.KeyBackspace},
}

func pressed(k string) tea.KeyPressMsg {
	if msg, ok := keys[k]; ok {
		return msg
	}
	if letter, ok := strings.CutPrefix(k, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
}

func (p *person) types(text string) {
	for _, r := range text {
		p.press(string(r))
	}
}

// waits lets time go by.
func (p *person) waits(d time.Duration) {
	p.clock = p.clock.Add(d)
	p.ticking = false
	p.take(tickMsg{})
}

// shown is the screen without looks.
func (p *person) shown() string { return ansi.Strip(p.View().Content) }

func (p *person) sees(want string) {
	p.t.Helper()
	if got := p.shown(); !strings.Contains(got, want) {
		p.t.Errorf("the screen does not show %q:\n%s", want, got)
	}
}

func (p *person) seesNot(want string) {
	p.t.Helper()
	if got := p.shown(); strings.Contains(got, want) {
		p.t.Errorf("the screen shows %q:\n%s", want, got)
	}
}

func (p *person) did(want string) {
	p.t.Helper()
	if len(p.asked) == 0 || p.asked[len(p.asked)-1] != want {
		p.t.Errorf("the server was asked %q, want %q at the end", p.asked, want)
	}
}

// The played server.

func (p *person) note(format string, args ...any) error {
	p.asked = append(p.asked, fmt.Sprintf(format, args...))
	return p.refuse
}

func (p *person) InputOnce(_ context.Context, _, key, text string) (string, error) {
	p.keys = append(p.keys, key)
	return fmt.Sprintf("run%d", len(p.asked)), p.note("input %q", text)
}

func (p *person) Cancel(_ context.Context, _, run string) (client.CancelAnswer, error) {
	return client.CancelAnswer{RunID: run, Outcome: "acked"}, p.note("cancel %s", run)
}

func (p *person) Answer(_ context.Context, _, id string, a client.AnswerRequest) error {
	b, _ := json.Marshal(a.Content)
	if a.ForSession {
		b = []byte("for the session")
	}
	return p.note("answer %s %s %q %s", id, a.Outcome, a.Reason, b)
}

func (p *person) Approvals(context.Context, string, bool) ([]client.Approval, error) { return nil, nil }

func (p *person) Runs(context.Context, string, int, string) (client.RunList, error) {
	return client.RunList{Runs: p.runs}, nil
}

func (p *person) Session(context.Context, string) (client.Session, error) { return p.status, nil }

func (p *person) Events(context.Context, string, client.EventsOptions) (*client.EventStream, error) {
	return nil, errors.New("played streams have no past")
}

// The golden screens.

var scenes = map[string]func(*person){
	"empty": func(*person) {},
	"turn": func(p *person) {
		p.happens(
			`a run.started {"text":"What is in this folder?"}`,
			`a run.token_delta {"text":"The person wants to see files.\nI list them.","is_reasoning":true}`,
			`a run.tool_call_started {"tool_call_id":"1","name":"shell","input":{"command":"ls -la"}}`,
			`a run.tool_call_completed {"tool_call_id":"1","ok":true,"duration_ms":1240,"summary":"a.txt\nb.txt"}`,
			`a run.tool_call_started {"tool_call_id":"2","name":"shell","input":{"command":"rm -rf / --no-preserve-root --and --more --words --that --are --cut"}}`,
			`a policy.denied {"rule":"never","tool":"shell"}`,
			`a run.token_delta {"text":"There are **two** files:\n\n- `+"`a.txt`"+`\n- `+"`b.txt`"+`, 日本語\n"}`,
			`a run.completed {"total_tokens_in":1234,"total_tokens_out":56,"run_cost_micros":2100}`,
		)
	},
	"asks": func(p *person) {
		p.happens(
			`a run.started {"text":"clean up"}`,
			`a run.tool_call_started {"tool_call_id":"1","name":"shell","input":{"command":"rm -rf build\u001b[8m"}}`,
			`a run.human_input_requested {"hitl_id":"h1","tool_call_id":"1","details":{"tool":"shell","command":"rm -rf build\u001b[8m"}}`,
			`a run.human_input_requested {"hitl_id":"h2","details":{"question":"Which colour?"}}`,
		)
		p.waits(2 * time.Second)
	},
	"queue": func(p *person) {
		p.happens(`a run.started {"text":"slow 50"}`, `a run.token_delta {"text":"1 2 3 "}`)
		p.runs = []client.Run{{RunID: "c", State: client.RunQueued, Text: "and then this"}, {RunID: "b", State: client.RunQueued, Text: "next"}}
		p.take(p.refresh()())
		p.types("typed meanwhile")
	},
	"failed": func(p *person) {
		p.status.Terminal = "the model said no"
		p.happens(
			`a run.started {"text":"go on"}`,
			`a run.tool_call_started {"tool_call_id":"1","name":"shell","input":{"command":"false"}}`,
			`a run.tool_call_completed {"tool_call_id":"1","ok":true,"duration_ms":20,"exit_code":1,"summary":"it\n\twent wrong"}`,
			`a run.failed {"message":"the model said no","terminal":true}`,
		)
		p.press("tab", "enter")
	},
	"paused": func(p *person) {
		p.happens(`a run.started {"text":"hi"}`, `a run.failed {"message":"cancelled by ann","cancelled":true}`,
			`- session.updated {"status":"SESSION_STATUS_PAUSED","pause_reason":"idle"}`)
		p.status.Status, p.status.PauseReason = client.SessionPaused, "idle"
		p.take(p.refresh()())
		p.take(streamMsg{State: reconnecting})
	},
}

// TestGoldenScreens compares what a person sees, with the codes that a terminal
// gets: \e stands for ESC. Colours must tell nothing that is not there without.
func TestGoldenScreens(t *testing.T) {
	color := regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-7]|9[0-7]|38|48)\b[0-9;]*m`)
	for name, scene := range scenes {
		for _, size := range [][2]int{{80, 24}, {40, 10}} {
			for word, profile := range map[string]colorprofile.Profile{"colour": colorprofile.ANSI, "plain": colorprofile.ASCII} {
				p := sit(t, size[0], size[1], "")
				scene(p)
				var b bytes.Buffer
				w := colorprofile.Writer{Forward: &b, Profile: profile}
				if _, err := w.Write([]byte(p.View().Content)); err != nil {
					t.Fatal(err)
				}
				if has := color.Match(b.Bytes()); has && profile == colorprofile.ASCII {
					t.Errorf("%s has colour without colour: %q", name, b.String())
				}
				got := strings.ReplaceAll(b.String(), "\x1b", `\e`) + "\n"
				for i, l := range strings.Split(ansi.Strip(b.String()), "\n") {
					if ansi.StringWidth(l) > size[0] {
						t.Errorf("%s %v: line %d is %d wide: %q", name, size, i, ansi.StringWidth(l), l)
					}
				}
				if n := strings.Count(got, "\n"); n != size[1] {
					t.Errorf("%s %v: %d lines", name, size, n)
				}
				path := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d-%s.txt", name, size[0], size[1], word))
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
				}
			}
		}
	}
}
