package demoagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	slowStep = 200 * time.Millisecond
	slowMax  = 10_000
	readMax  = 32 << 10 // bytes of a file that read says
)

// voice is the agent in one turn.
type voice struct {
	agent   *agent
	ctx     context.Context // of the turn: its end is a cancel
	session *session
	said    strings.Builder

	stubborn bool // a cancel changes nothing
}

// commands are the words that a prompt may begin with; the argument is the rest.
var commands = map[string]func(*voice, string) error{
	"run": (*voice).run, "together": (*voice).together, "write": (*voice).write, "read": (*voice).read, "think": (*voice).think,
	"slow": (*voice).slow, "stubborn": (*voice).refuseToStop, "ask": (*voice).ask, "crash": (*voice).crash,
	"fail": failAs("demo"), "model-error": failAs("authentication"), "model-timeout": failAs("timeout"),
}

func (v *voice) obey(input string) error {
	word, rest, _ := strings.Cut(input, " ")
	if command, ok := commands[word]; ok {
		return command(v, strings.TrimSpace(rest))
	}
	return v.chat(input)
}

// say streams text word by word.
func (v *voice) say(text string) error {
	for _, word := range strings.SplitAfter(text, " ") {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		v.piece(word)
	}
	return nil
}

func (v *voice) piece(s string) {
	if s == "" {
		return
	}
	v.said.WriteString(s)
	v.agent.update(v.session.id, object{"sessionUpdate": "agent_message_chunk", "content": text(s)})
}

func (v *voice) chat(input string) error {
	return v.say(fmt.Sprintf("turn %d: you said %q. I am the demo agent; there is no model behind me. "+
		"Try: run ls -la, write notes.txt hello, read notes.txt, ask Which colour?, slow 5", len(v.session.past), clip(input, 200)))
}

func (v *voice) write(argument string) error {
	name, body, ok := strings.Cut(argument, " ")
	if !ok || name == "" {
		return v.say("write needs a path and a text, as in: write notes.txt hello")
	}
	path := v.path(name)
	diff := object{"type": "diff", "path": path, "newText": body + "\n"}
	if old, err := os.ReadFile(path); err == nil {
		diff["oldText"] = clip(string(old), readMax)
	}
	c := v.call("edit", "write", "Write "+path, object{"path": path, "content": body}, &path)
	c.content = []object{diff}
	if allowed, err := c.permitted(); err != nil || !allowed {
		return err
	}
	path, body = v.path(c.text("path")), c.text("content")
	if err := os.WriteFile(path, []byte(body+"\n"), 0o644); err != nil {
		c.end("failed", err.Error(), nil)
		return v.say("could not write: " + err.Error())
	}
	c.end("completed", fmt.Sprintf("wrote %d bytes", len(body)+1), nil)
	return v.say("wrote " + path)
}

func (v *voice) read(name string) error {
	if name == "" {
		return v.say("read needs a path, as in: read notes.txt")
	}
	path := v.path(name)
	c := v.call("read", "read", "Read "+path, object{"path": path}, &path)
	c.start()
	b, err := os.ReadFile(path)
	if err != nil {
		c.end("failed", err.Error(), nil)
		return v.say("could not read: " + err.Error())
	}
	content := clip(string(b), readMax)
	c.end("completed", content, nil)
	return v.say(content)
}

func (v *voice) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(v.session.cwd, name)
}

func (v *voice) think(thought string) error {
	v.agent.update(v.session.id, object{"sessionUpdate": "agent_thought_chunk", "content": text(thought)})
	return v.say("I have thought about it.")
}

func (v *voice) slow(argument string) error {
	n, err := strconv.Atoi(argument)
	if err != nil || n < 1 || n > slowMax {
		return v.say(fmt.Sprintf("slow needs a number from 1 to %d, as in: slow 5", slowMax))
	}
	tick := time.NewTicker(slowStep)
	defer tick.Stop()
	for i := 1; ; i++ {
		v.piece(strconv.Itoa(i) + " ")
		if i == n {
			return nil
		}
		select {
		case <-tick.C:
		case <-v.ctx.Done():
			return v.ctx.Err()
		}
	}
}

func (v *voice) refuseToStop(argument string) error {
	v.stubborn, v.ctx = true, v.agent.ctx
	return v.slow(argument)
}

func (v *voice) ask(question string) error {
	v.agent.mu.Lock()
	forms := v.agent.forms
	v.agent.mu.Unlock()
	if !forms {
		return v.say("your client cannot show a question")
	}
	var reply struct {
		Action  string
		Content map[string]any
	}
	err := v.agent.call(v.ctx, "elicitation/create", object{
		"sessionId": v.session.id, "mode": "form", "message": question,
		"requestedSchema": object{
			"type": "object", "properties": object{"answer": object{"type": "string", "title": "Answer"}}, "required": []string{"answer"},
		},
	}, &reply)
	switch {
	case err != nil:
		return err
	case reply.Action == "accept":
		return v.say(fmt.Sprintf("you answered: %v", reply.Content["answer"]))
	default:
		return v.say("you did not answer")
	}
}

// failAs ends the turn with an error of a kind.
func failAs(kind string) func(*voice, string) error {
	return func(_ *voice, message string) error {
		if message == "" {
			message = "failed as asked"
		}
		return &rpcError{Code: -32603, Message: message, Data: object{"errorKind": kind}}
	}
}

func (v *voice) crash(string) error {
	fmt.Fprintln(os.Stderr, "crashing as asked")
	v.agent.exit(3)
	return errors.New("still here after a crash") // only where exit is a test's
}

// clip cuts s to about n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
