// Package fakemodel is a scripted model server for tests: real coding agents
// take turns against it without a key, a network or chance.
//
// It speaks OpenAI Chat Completions and Anthropic Messages, streaming or not.
// What it answers follows from the request alone, from the last text of the
// user:
//
//	RUN: COMMAND      calls the agent's shell tool, then says what that gave
//	WRITE: PATH TEXT  calls the agent's tool that writes files, likewise
//	READ: PATH        calls the agent's tool that reads files, likewise
//	SLOW: N           says 1 to N, one number each 200 ms
//	FAIL: STATUS      answers with that HTTP status
//
// Anything else is answered with "reply K: …", K counting the user's texts in
// the request: so the answer proves what the agent remembers. Requests without
// tools are side questions of agents (titles, summaries) and get a title.
package fakemodel

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

// request is a request of either protocol, as far as the script needs it.
type request struct {
	model   string
	stream  bool
	tools   []tool
	users   []string // texts of the user, oldest first
	results []string // of tool calls since the last of them
	size    int      // bytes of the request
}

// tool is one that the agent offers.
type tool struct {
	name   string
	schema object // JSON schema of its input
}

// reply is what the model answers.
type reply struct {
	status int // an HTTP status of 400 and more instead of an answer
	pieces []string
	pace   time.Duration // between pieces
	call   *call
}

// call asks the agent to call a tool.
type call struct {
	tool  string
	input object
}

// notes are what agents put into the user's mouth for the model's sake.
var notes = regexp.MustCompile(`(?s)<(system-reminder|environment_context|session_context|context|current_datetime|reminder)[^>]*>.*?</[^>]+>`)

// addUser adds a text of the user; results belong to the text before.
func (r *request) addUser(text string) {
	if text = strings.TrimSpace(notes.ReplaceAllString(text, "")); text == "" {
		return
	}
	r.users = append(r.users, text)
	r.results = nil
}

func (r *request) lastUser() string {
	if len(r.users) == 0 {
		return ""
	}
	return r.users[len(r.users)-1]
}

var directive = regexp.MustCompile(`(?m)\b(RUN|WRITE|READ|SLOW|FAIL): ?(.*)$`)

// The names by which known agents offer a tool, by what it does.
var toolNames = map[string][]string{
	"RUN":   {"bash", "Bash", "shell", "run_shell_command", "exec_command", "shell_command", "terminal", "execute"},
	"WRITE": {"write", "Write", "write_file", "create", "create_file"},
	"READ":  {"read", "Read", "read_file", "view"},
}

// answer plays the script.
func answer(r request) reply {
	if len(r.tools) == 0 {
		return say("A scripted title")
	}
	m := directive.FindStringSubmatch(r.lastUser())
	if m == nil {
		return say(fmt.Sprintf("reply %d: you said %q", len(r.users), clip(r.lastUser(), 200)))
	}
	word, argument := m[1], strings.TrimSpace(m[2])
	switch word {
	case "FAIL":
		status, err := strconv.Atoi(argument)
		if err != nil || status < 400 || status > 599 {
			return say("FAIL needs a status from 400 to 599")
		}
		return reply{status: status}
	case "SLOW":
		n, _ := strconv.Atoi(argument)
		var pieces []string
		for i := range n {
			pieces = append(pieces, strconv.Itoa(i+1)+" ")
		}
		return reply{pieces: pieces, pace: 200 * time.Millisecond}
	}
	if n := len(r.results); n > 0 {
		return say("The tool gave: " + clip(r.results[n-1], 2000))
	}
	t := r.tool(toolNames[word])
	if t == nil {
		return say(fmt.Sprintf("There is no tool for %s among %s", word, strings.Join(r.toolNames(), ", ")))
	}
	out := say("I will use " + t.name + ". ")
	out.call = &call{t.name, t.fit(inputFor(word, argument))}
	return out
}

func say(text string) reply { return reply{pieces: strings.SplitAfter(text, " ")} }

func (r *request) tool(names []string) *tool {
	for _, name := range names {
		if i := slices.IndexFunc(r.tools, func(t tool) bool { return t.name == name }); i >= 0 {
			return &r.tools[i]
		}
	}
	return nil
}

func (r *request) toolNames() (names []string) {
	for _, t := range r.tools {
		names = append(names, t.name)
	}
	return names
}

// inputFor gives the tool's input under every name that an agent may have for
// it.
func inputFor(word, argument string) object {
	switch word {
	case "RUN":
		return object{"command": argument, "cmd": argument, "description": "Run the scripted command", "sessionId": "scripted", "mode": "sync"}
	case "WRITE":
		path, text, _ := strings.Cut(argument, " ")
		text += "\n"
		return object{"path": path, "file_path": path, "filePath": path, "content": text, "file_text": text}
	default:
		return object{"path": argument, "file_path": argument, "filePath": argument}
	}
}

// fit keeps what the tool's schema knows, and puts a command into a list where
// it wants one.
func (t tool) fit(input object) object {
	properties, ok := t.schema["properties"].(object)
	if !ok {
		return input
	}
	out := object{}
	for name, value := range input {
		p, known := properties[name].(object)
		if !known {
			continue
		}
		if text, isText := value.(string); isText && p["type"] == "array" {
			value = []string{"bash", "-c", text}
		}
		out[name] = value
	}
	return out
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
