package codex

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// The tests of this package play against a stand-in for Codex: this program, told
// by its environment to speak the app-server's protocol. It does what a prompt
// says, a step a line:
//
//	send JSON      sends a notification; THREAD and TURN stand for their ids
//	hook ID TOOL JSON [run]  asks the hook as Codex would and goes where it is told to
//	gate ID        calls the gate
//	ask METHOD JSON  asks, and says what was answered
//	hang           waits until it is interrupted
//	die            exits with a last word
//	say nothing, die  alone: exits though nothing was answered
//	fail JSON      ends the turn with that error
const (
	fakeVariable = "PADDOCK_FAKE_CODEX" // the folder of its state
	fakeSocket   = "PADDOCK_FAKE_SOCKET"
	fakeNoHook   = "PADDOCK_FAKE_NO_HOOK"
)

func TestMain(m *testing.M) {
	if os.Getenv(fakeVariable) != "" {
		(&fake{lines: bufio.NewScanner(os.Stdin), asked: map[string]chan string{}, stop: make(chan struct{}, 1)}).serve()
		return
	}
	goleak.VerifyTestMain(m)
}

type fake struct {
	lines *bufio.Scanner
	stop  chan struct{} // an interrupt

	mu    sync.Mutex
	asked map[string]chan string
	next  int
}

func (k *fake) send(v any) {
	b, _ := json.Marshal(v)
	k.mu.Lock()
	defer k.mu.Unlock()
	fmt.Println(string(b))
}

func (k *fake) notify(method string, params map[string]any) {
	params["threadId"] = "thread-1"
	if params["turnId"] == nil {
		params["turnId"] = "turn-1"
	}
	k.send(map[string]any{"method": method, "params": params})
}

func (k *fake) serve() {
	k.lines.Buffer(nil, 1<<20)
	kept := filepath.Join(os.Getenv(fakeVariable), "kept")
	for k.lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Params struct {
				ThreadID string
				Input    []struct{ Text string }
			}
		}
		if err := json.Unmarshal(k.lines.Bytes(), &m); err != nil {
			panic(err)
		}
		var result any = map[string]any{}
		switch m.Method {
		case "":
			k.mu.Lock()
			answer := k.asked[string(m.ID)]
			k.mu.Unlock()
			answer <- string(m.Result)
			continue
		case "initialized":
			continue
		case "initialize":
			result = map[string]any{"userAgent": "paddock/9.9.9 (x)"}
		case "hooks/list":
			hooks := []any{map[string]any{"eventName": "preToolUse", "command": hookCommand, "enabled": true, "isManaged": os.Getenv(fakeNoHook) == ""}}
			result = map[string]any{"data": []any{map[string]any{"hooks": hooks}}}
		case "thread/start":
			result = map[string]any{"thread": map[string]any{"id": "thread-1"}, "model": "m"}
		case "thread/resume":
			if _, err := os.Stat(kept); err != nil {
				k.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32600, "message": "no rollout found"}})
				continue
			}
			k.send(map[string]any{"id": m.ID, "result": map[string]any{"model": "resumed"}})
			continue
		case "turn/start":
			if m.Params.Input[0].Text == "say nothing, die" {
				os.Exit(4)
			}
			k.send(map[string]any{"id": m.ID, "result": map[string]any{"turn": map[string]any{"id": "turn-1"}}})
			k.notify("turn/started", map[string]any{"turn": map[string]any{"id": "turn-1"}})
			_ = os.WriteFile(kept, nil, 0o644)
			go k.play(m.Params.Input[0].Text)
			continue
		case "turn/interrupt":
			select {
			case k.stop <- struct{}{}:
			default:
			}
		}
		k.send(map[string]any{"id": m.ID, "result": result})
	}
}

func (k *fake) say(text string) {
	k.notify("item/agentMessage/delta", map[string]any{"itemId": "message-1", "delta": text})
}

func (k *fake) ask(method string, params map[string]any) string {
	k.mu.Lock()
	k.next++
	id := fmt.Sprint(1000 + k.next)
	answer := make(chan string, 1)
	k.asked[id] = answer
	k.mu.Unlock()
	params["threadId"], params["turnId"] = "thread-1", "turn-1"
	k.send(map[string]any{"id": json.RawMessage(id), "method": method, "params": params})
	return <-answer
}

// play does what a prompt says and ends the turn.
func (k *fake) play(script string) {
	turn := map[string]any{"id": "turn-1", "status": "completed"}
	for line := range strings.Lines(script) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "say":
			k.say(rest)
		case "send":
			rest = strings.NewReplacer("THREAD", "thread-1", "TURN", "turn-1").Replace(rest)
			k.send(json.RawMessage(rest))
		case "hook":
			k.hook(rest)
		case "gate":
			answer, err := inquire(os.Getenv(fakeSocket), gateAsk{Gate: rest}, time.Minute)
			k.say(fmt.Sprintf("gate: %q %q %v\n", answer.Run, answer.Refused, err))
		case "ask":
			method, params, _ := strings.Cut(rest, " ")
			var p map[string]any
			if err := json.Unmarshal([]byte(params), &p); err != nil {
				panic(err)
			}
			k.say("answered " + k.ask(method, p) + "\n")
		case "hang":
			<-k.stop
			turn["status"] = "interrupted"
		case "die":
			fmt.Fprintln(os.Stderr, "\x1b[31malas\x1b[0m")
			os.Exit(3)
		case "fail":
			turn["status"], turn["error"] = "failed", json.RawMessage(rest)
		}
	}
	k.send(map[string]any{"method": "turn/completed", "params": map[string]any{"threadId": "thread-1", "turn": turn}})
}

// hook makes a call as Codex does: through the hook, then, for a command that has
// become one of the gate, through a question and the gate.
func (k *fake) hook(rest string) {
	id, rest, _ := strings.Cut(rest, " ")
	tool, input, _ := strings.Cut(rest, " ")
	thread, dir := "thread-1", "/workspace"
	if id == "away" {
		dir = "/etc"
	}
	if id == "stranger" {
		thread = "thread-2"
	}
	answer, err := inquire(os.Getenv(fakeSocket), gateAsk{Hook: &hookCall{Thread: thread, ID: id, Tool: tool, Input: json.RawMessage(input), Cwd: dir}}, time.Minute)
	switch {
	case err != nil:
		k.say(fmt.Sprintf("hook: %v\n", err))
	case answer.Pass:
		k.say(id + " passes\n")
	case answer.Hook.Output.Decision == "deny":
		k.say(id + " denied: " + answer.Hook.Output.Reason + "\n")
	default:
		command := fmt.Sprint(answer.Hook.Output.Input["command"])
		gate, gated := strings.CutPrefix(command, gateCommand(""))
		if !gated {
			k.say(id + " runs " + command + "\n")
			return
		}
		k.say(id + " waits\n")
		decision := k.ask("item/commandExecution/requestApproval", map[string]any{"itemId": id, "command": "/bin/bash -lc '" + command + "'"})
		k.say(id + " " + decision + "\n")
		if strings.Contains(decision, "accept") {
			passed, err := inquire(os.Getenv(fakeSocket), gateAsk{Gate: gate}, time.Minute)
			k.say(fmt.Sprintf("%s runs %q %q %v\n", id, passed.Run, passed.Refused, err))
		}
		k.notify("item/completed", map[string]any{"item": map[string]any{"type": "commandExecution", "id": id, "status": "completed", "command": command, "exitCode": 0}})
	}
}

// stage is an adapter with the stand-in behind it.
type stage struct {
	*testing.T
	*adapter
	sink *record
}

func newStage(t *testing.T, env ...string) stage {
	t.Helper()
	table := proc.NewTable()
	t.Cleanup(table.Close)
	dir := t.TempDir()
	sink := &record{asks: make(chan guestapi.Ask, 10), waits: make(chan struct{}, 10)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := places{filepath.Join(dir, "etc"), filepath.Join(dir, "run", "socket")}
	services := guest.Services{
		Spawn: func(argv []string, _ string, files [3]*os.File) (*proc.Process, error) {
			user := proc.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
			env := append([]string{fakeVariable + "=" + dir, fakeSocket + "=" + at.socket}, env...)
			return table.Start(proc.Spec{Path: argv[0], Argv: argv, Dir: dir, User: user, Files: files, Env: env})
		},
		Environ: func() map[string]string { return nil },
		Log:     sink.Log0,
	}
	a := newAdapter(guestapi.Agent{Adapter: "codex", Argv: []string{self}, Tools: []guestapi.Tool{{Name: "docs-x", Command: []string{"docs"}}}}, services, at)
	t.Cleanup(a.Close)
	return stage{t, a, sink}
}

// turn plays one and gives how it ended, with each ask answered by decide.
func (s stage) turn(script string, decide func(guestapi.Ask) []guestapi.Answer) guestapi.End {
	s.Helper()
	ended := make(chan guestapi.End, 1)
	go func() { ended <- s.Turn(s.Context(), guestapi.Prompt{Text: script}, s.sink) }()
	for {
		select {
		case q := <-s.sink.asks:
			for i, answer := range decide(q) {
				if i > 0 && q.Action == event.ActionBash {
					<-s.sink.waits
				}
				s.Answer(q.Key, answer)
			}
		case end := <-ended:
			return end
		}
	}
}

// record is a guest.Sink that keeps what it is told, a line each.
type record struct {
	begin func() // called when a prompt is about to be given
	asks  chan guestapi.Ask
	waits chan struct{} // has one for each call that waits at the gate

	mu    sync.Mutex
	lines []string
	text  strings.Builder
	keys  int
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *record) has(line string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.lines, "\n"), line)
}

func (r *record) Begin() {
	if r.begin != nil {
		r.begin()
	}
}
func (r *record) Delta(text string, reasoning bool, _ guest.Source) {
	if reasoning {
		r.add("thinks %s", text)
		return
	}
	if strings.HasSuffix(text, " waits\n") {
		r.waits <- struct{}{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.WriteString(text)
}
func (r *record) ToolStarted(t event.ToolStarted, _ guest.Source) {
	r.add("started %s %s %s %s", t.ToolCallID, t.Name, t.Kind, t.Input)
}
func (r *record) ToolCompleted(t event.ToolCompleted, _ guest.Source) {
	code := "-"
	if t.ExitCode != nil {
		code = fmt.Sprint(*t.ExitCode)
	}
	r.add("completed %s %v %s %q", t.ToolCallID, t.OK, code, t.Summary)
}
func (r *record) Usage(u event.Usage, _ guest.Source) {
	r.add("usage %s %s %+v", u.StepID, u.ModelID, u.Usage)
}
func (r *record) Cost(event.Cost, guest.Source)         {}
func (r *record) Log(l event.Log, _ guest.Source)       { r.add("%s: %s", l.Level, l.Message) }
func (r *record) Log0(l event.Log, source guest.Source) { r.Log(l, source) }
func (r *record) Alive(guest.Source)                    {}
func (r *record) Ask(q guestapi.Ask, _ guest.Source)    { r.asks <- q }
func (r *record) NewKey() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys++
	return fmt.Sprintf("key-%d", r.keys)
}
