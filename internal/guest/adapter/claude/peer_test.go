package claude

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// peerWord as the first argument makes this test binary an agent that plays a
// script: a JSON object from what it hears to the lines that it answers with.
// It hears "initialize", "interrupt", the text of a prompt, or "answer" to what
// it has asked. In a line, $ID is the id of what it heard, and $HEARD the whole
// of it as the inside of a JSON string.
const peerWord = "scripted-claude"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == peerWord {
		play(os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

func play(file string) {
	script := map[string][]string{
		"initialize": {`{"type":"control_response","response":{"subtype":"success","request_id":"$ID","response":{}}}`},
		"interrupt":  {`{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"}`},
	}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &script)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if i := slices.Index(os.Args, "--resume"); i > 0 {
		fmt.Println(`{"type":"system","subtype":"resumed","session_id":"` + os.Args[i+1] + `"}`)
		if slices.Contains(script["lost"], os.Args[i+1]) {
			fmt.Fprintln(os.Stderr, "no such conversation")
			os.Exit(1)
		}
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			Type      string
			RequestID string `json:"request_id"`
			Request   struct{ Subtype string }
			Response  struct {
				RequestID string `json:"request_id"`
			}
			Message struct{ Content []struct{ Text string } }
		}
		_ = json.Unmarshal(in.Bytes(), &m)
		heard, id := m.Request.Subtype, m.RequestID
		switch m.Type {
		case "user":
			heard = m.Message.Content[0].Text
			fmt.Printf("{\"type\":\"user\",\"isReplay\":%v,\"session_id\":\"s1\",\"message\":{}}\n", heard != "not begun")
		case "control_response":
			heard, id = "answer", m.Response.RequestID
		}
		quoted, _ := json.Marshal(in.Text())
		for _, line := range script[heard] {
			if line == "EXIT" {
				fmt.Fprintln(os.Stderr, "alas")
				os.Exit(5)
			}
			line = strings.ReplaceAll(line, "$ID", id)
			inside, _ := json.Marshal(strings.Trim(string(quoted), `"`))
			fmt.Println(strings.ReplaceAll(line, "$HEARD", strings.Trim(string(inside), `"`)))
		}
	}
}

// peer is an adapter with a scripted agent.
type peer struct {
	*adapter
	t    *testing.T
	sink *recorder
}

func newPeer(t *testing.T, script map[string][]string) *peer {
	t.Helper()
	dir := t.TempDir()
	b, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/script", b, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	table := proc.NewTable()
	t.Cleanup(table.Close)
	p := &peer{t: t, sink: &recorder{changed: make(chan struct{}, 1)}}
	p.adapter = New(guestapi.Agent{Adapter: "claude", Argv: []string{self, peerWord, filepath.Join(dir, "script")}, Dir: dir}, guest.Services{
		Spawn: func(argv []string, _ string, files [3]*os.File) (*proc.Process, error) {
			user := proc.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
			return table.Start(proc.Spec{Path: argv[0], Argv: argv, Dir: dir, User: user, Files: files})
		},
		Log: p.sink.Log,
	}).(*adapter)
	t.Cleanup(p.Close)
	return p
}

// play plays a turn; each ask is answered by answer, which may do something else.
func (p *peer) play(text string, answer func(guestapi.Ask)) guestapi.End {
	p.t.Helper()
	p.sink.mu.Lock()
	p.sink.answer = answer
	p.sink.mu.Unlock()
	return p.Turn(p.t.Context(), guestapi.Prompt{Text: text}, p.sink)
}

func (p *peer) allow(q guestapi.Ask) { p.Answer(q.Key, guestapi.Answer{Decision: guestapi.Allow}) }

// recorder is a sink that writes one line a report.
type recorder struct {
	mu      sync.Mutex
	lines   []string
	keys    int
	answer  func(guestapi.Ask)
	changed chan struct{}
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// take gives the lines so far, and begins anew.
func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := strings.Join(r.lines, "\n")
	r.lines = nil
	return s
}

// await waits for a line with the text.
func (p *peer) await(text string) {
	p.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		p.sink.mu.Lock()
		all := strings.Join(p.sink.lines, "\n")
		p.sink.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-p.sink.changed:
		case <-deadline:
			p.t.Fatalf("no %q in\n%s", text, all)
		}
	}
}

func (r *recorder) Begin()             {}
func (r *recorder) Alive(guest.Source) {}
func (r *recorder) Delta(text string, thought bool, _ guest.Source) {
	r.add("delta %v %s", thought, text)
}
func (r *recorder) ToolStarted(s event.ToolStarted, _ guest.Source) {
	r.add("started %s %s %s %s", s.ToolCallID, s.Name, s.Kind, s.Input)
}
func (r *recorder) ToolCompleted(c event.ToolCompleted, _ guest.Source) {
	r.add("completed %s %v %s", c.ToolCallID, c.OK, c.Summary)
}
func (r *recorder) Usage(u event.Usage, _ guest.Source) {
	r.add("usage %s %d %d", u.ModelID, u.Usage.Input, u.Usage.Output)
}
func (r *recorder) Cost(c event.Cost, _ guest.Source) {
	r.add("cost %d of %d", c.DeltaMicros, c.RunningTotalMicros)
}
func (r *recorder) Log(l event.Log, s guest.Source) {
	r.add("log %s %s | %s", l.Level, l.Message, s.Raw)
}
func (r *recorder) NewKey() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys++
	return fmt.Sprint("key", r.keys)
}
func (r *recorder) Ask(q guestapi.Ask, _ guest.Source) {
	r.add("ask %s %s %s", q.ToolCallID, q.Details.Tool, q.Details.Gist())
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		answer(q)
	}
}
