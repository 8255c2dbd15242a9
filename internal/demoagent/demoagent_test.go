package demoagent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client speaks to an agent that runs in this process.
type client struct {
	t    *testing.T
	in   io.Writer
	out  *bufio.Scanner
	next int
	exit chan int
}

func newClient(t *testing.T, dir string) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, out: bufio.NewScanner(outR), exit: make(chan int, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Run(inR, outW, dir, func(code int) { c.exit <- code }); err != nil {
			t.Error(err)
		}
		outW.Close()
	})
	t.Cleanup(func() {
		inW.Close()
		_, _ = io.Copy(io.Discard, outR)
		wg.Wait()
	})
	return c
}

// call sends a request and reads to its answer; what the agent said on the way
// is text.
func (c *client) call(method, params string) (result, text string) {
	c.t.Helper()
	c.next++
	fmt.Fprintf(c.in, `{"id":%d,"method":%q,"params":%s}`+"\n", c.next, method, params)
	for c.out.Scan() {
		var m struct {
			ID     json.RawMessage
			Params struct {
				Update struct {
					SessionUpdate string
					Content       json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(c.out.Bytes(), &m); err != nil {
			c.t.Fatalf("%s: %v", c.out.Text(), err)
		}
		if string(m.ID) == fmt.Sprint(c.next) {
			return c.out.Text(), text
		}
		var block struct{ Text string }
		_ = json.Unmarshal(m.Params.Update.Content, &block)
		text += block.Text
	}
	c.t.Fatalf("no answer to %s", method)
	return "", ""
}

func (c *client) session(cwd string) string {
	c.t.Helper()
	answer, _ := c.call("session/new", fmt.Sprintf(`{"cwd":%q}`, cwd))
	var m struct{ Result struct{ SessionID string } }
	if err := json.Unmarshal([]byte(answer), &m); err != nil || m.Result.SessionID == "" {
		c.t.Fatal(answer)
	}
	return m.Result.SessionID
}

func (c *client) prompt(session, text string) (result, said string) {
	c.t.Helper()
	return c.call("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text))
}

func TestConversationSurvives(t *testing.T) {
	dir := t.TempDir()
	first := newClient(t, dir)
	s := first.session(dir)
	for _, text := range []string{"one", "think two", "fail three"} {
		first.prompt(s, text)
	}
	second := newClient(t, dir)
	if _, past := second.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q}`, s, dir)); !strings.Contains(past, `turn 1: you said "one"`) {
		t.Errorf("past %q", past)
	}
	if _, said := second.prompt(s, "four"); !strings.HasPrefix(said, "turn 4: ") {
		t.Error(said)
	}
	for _, bad := range []string{"demo_0123456789abcdef", "../x", ""} {
		if answer, _ := second.call("session/resume", fmt.Sprintf(`{"sessionId":%q}`, bad)); !strings.Contains(answer, "-32002") {
			t.Errorf("%q: %s", bad, answer)
		}
	}
}

func TestSmallThings(t *testing.T) {
	dir := t.TempDir()
	c := newClient(t, dir)
	if answer, _ := c.call("initialize", `{}`); !strings.Contains(answer, `"protocolVersion":1`) {
		t.Error(answer)
	}
	if answer, _ := c.call("no/such", `{}`); !strings.Contains(answer, "-32601") {
		t.Error(answer)
	}
	if answer, _ := c.call("session/prompt", `[]`); !strings.Contains(answer, "-32602") {
		t.Error(answer)
	}
	s := c.session(dir)
	for prompt, want := range map[string]string{
		"slow 1": "1 ", "slow no": "slow needs", "run": "run needs", "write": "write needs", "write a": "write needs", "read": "read needs",
		"read nothing": "could not read", "ask x": "your client cannot", "running late": "turn ", "": "turn ",
	} {
		if result, said := c.prompt(s, prompt); !strings.Contains(said, want) || !strings.Contains(result, `"end_turn"`) {
			t.Errorf("%q: %q %s", prompt, said, result)
		}
	}
	for prompt, kind := range map[string]string{"fail x": "demo", "model-error x": "authentication", "model-timeout x": "timeout"} {
		if result, _ := c.prompt(s, prompt); !strings.Contains(result, `"errorKind":"`+kind+`"`) || !strings.Contains(result, `"message":"x"`) {
			t.Errorf("%q: %s", prompt, result)
		}
	}
	c.prompt(s, "crash")
	if code := <-c.exit; code != 3 {
		t.Errorf("exit %d", code)
	}
}

// A file that was cut anywhere gives the turns before the cut.
func TestStoreAfterACut(t *testing.T) {
	dir := t.TempDir()
	s := store{dir}
	id, err := s.create()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		user, agent := fmt.Sprintf("user %d\n", i), "" // an agent may say nothing
		if i%2 == 0 {
			agent = "agent"
		}
		for _, h := range []half{{User: &user}, {Agent: &agent}} {
			if err := s.save(id, h); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := filepath.Join(dir, id+".jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.load(id)
	if err != nil || len(all) != 4 || all[2].Agent != "agent" || all[3].User != "user 3\n" {
		t.Fatalf("%+v %v", all, err)
	}
	for n := range whole {
		if err := os.WriteFile(file, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		past, err := s.load(id)
		if err != nil || len(past) > len(all) {
			t.Fatalf("cut at %d: %v %v", n, past, err)
		}
		for i, turn := range past {
			if turn.User != all[i].User {
				t.Fatalf("cut at %d: %+v", n, past)
			}
		}
	}
}

// Output cut anywhere into chunks is shown as whole code points.
func TestScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("aé€🦊\n"))).Draw(t, "text")
		var s screen
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			s.add(rest[:n])
			rest = rest[n:]
			if shown := s.String(); !utf8.ValidString(shown) || strings.Contains(shown, "\uFFFD") || !strings.HasPrefix(text, shown) {
				t.Fatalf("shown %q of %q", shown, text)
			}
		}
		if s.String() != text {
			t.Fatalf("shown %q of %q", s.String(), text)
		}
	})
}

// A cancel that is right behind its prompt ends it.
func TestCancelAtOnce(t *testing.T) {
	c := newClient(t, t.TempDir())
	session := c.session(t.TempDir())
	for range 50 {
		cancel := fmt.Sprintf(`{"method":"session/cancel","params":{"sessionId":%q}}`, session)
		prompt := fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"slow 500"}]}`, session)
		// Both lines in one write: the second one closes what call leaves open.
		result, _ := c.call("session/prompt", prompt+"}\n"+strings.TrimSuffix(cancel, "}"))
		if !strings.Contains(result, `"stopReason":"cancelled"`) {
			t.Fatal(result)
		}
	}
}

func TestCancelRightBehindThePrompt(t *testing.T) {
	c := newClient(t, t.TempDir())
	id := c.session(t.TempDir())
	for range 50 {
		c.next++
		fmt.Fprintf(c.in, `{"id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"slow 100"}]}}`+"\n"+
			`{"method":"session/cancel","params":{"sessionId":%q}}`+"\n", c.next, id, id)
		for c.out.Scan() && !strings.HasPrefix(c.out.Text(), fmt.Sprintf(`{"id":%d,`, c.next)) {
		}
		if !strings.Contains(c.out.Text(), `"stopReason":"cancelled"`) {
			t.Fatalf("the turn ended as %s", c.out.Text())
		}
	}
}

func TestTurnBehindACutLine(t *testing.T) {
	s := store{t.TempDir()}
	id, err := s.create()
	if err != nil {
		t.Fatal(err)
	}
	file, _ := s.file(id)
	if err := os.WriteFile(file, []byte(`{"user":"one"}`+"\n"+`{"agent":"cu`), 0o600); err != nil {
		t.Fatal(err)
	}
	two := "two"
	if err := s.save(id, half{User: &two}); err != nil {
		t.Fatal(err)
	}
	if past, err := s.load(id); err != nil || len(past) != 2 || past[1].User != "two" {
		t.Errorf("%+v, %v", past, err)
	}
}
