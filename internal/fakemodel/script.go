// Package fakemodel is a scripted model server for tests: real coding agents
// take turns against it without a key, a network or chance.
//
// It speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini,
// streaming or not. What it answers follows from the request, from the last text
// of the user:
//
//	RUN: COMMAND      calls the agent's shell tool, then says what that gave
//	RUNESC: COMMAND   likewise, asking to leave the agent's own sandbox (codex)
//	WRITE: PATH TEXT  calls the agent's tool that writes files, likewise
//	                  (where that is refused and a shell command wanted: does it by one)
//	READ: PATH        calls the agent's tool that reads files, likewise
//	MCP: PART         calls the first tool with PART in its name with text "ping"
//	CALL: TOOL JSON   calls that tool with that input, likewise
//	ASKUSER           calls the agent's tool that asks the user which colour
//	THINK             reasons before it answers, where the protocol has words for it
//	SLOW: N           says 1 to N, one number each 200 ms
//	ERR: STATUS       answers with that HTTP status
//	ERRONCE: STATUS   answers so the first time that it is told this, then as usual
//	CUT               ends the connection in the middle of an answer
//
// Anything else is answered with "reply K: …", K counting the user's texts in
// the request: so the answer proves what the agent remembers. Requests without
// tools are side questions of agents (titles, summaries) and get a title, or the
// smallest value of the schema that they ask for.
package fakemodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

type object = map[string]any

// request is a request of any protocol, as far as the script needs it.
type request struct {
	model   string
	stream  bool
	tools   []tool
	users   []string // texts of the user, oldest first
	results []string // of tool calls since the last of them
	schema  object   // JSON schema that the answer has to fit; nil: it is text
	size    int      // bytes of the request
}

// reply is what the model answers.
type reply struct {
	status  int    // an HTTP status of 400 and more instead of an answer
	thought string // before the answer
	pieces  []string
	pace    time.Duration // between pieces
	cut     bool          // the connection ends after the pieces
	call    *call
}

// notes are what agents put into the user's mouth for the model's sake.
var notes = regexp.MustCompile(`(?s)<(system-reminder|environment_context|user_instructions|INSTRUCTIONS|permissions instructions|collaboration_mode|skills_instructions|session_context|context|current_datetime|reminder)[^>]*>.*?</[^>]+>`)

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

var directive = regexp.MustCompile(`(?m)\b(RUNESC|RUN|WRITE|READ|MCP|CALL|ASKUSER|THINK|SLOW|ERRONCE|ERR|CUT)\b:? ?(.*)$`)

// script plays what the requests say. Of what was before it knows only which
// texts it has refused once.
type script struct{ refused sync.Map }

// answer plays the script.
func (s *script) answer(r request) reply {
	if len(r.tools) == 0 {
		if r.schema != nil {
			return reply{pieces: []string{smallest(r.schema)}}
		}
		return say("A scripted title")
	}
	m := directive.FindStringSubmatch(r.lastUser())
	if m == nil {
		return plainReply(r)
	}
	word, argument := m[1], strings.TrimSpace(m[2])
	switch word {
	case "ERR", "ERRONCE":
		return s.refuse(r, word, argument)
	case "SLOW":
		n, _ := strconv.Atoi(argument)
		var pieces []string
		for i := range n {
			pieces = append(pieces, strconv.Itoa(i+1)+" ")
		}
		return reply{pieces: pieces, pace: 200 * time.Millisecond}
	case "CUT":
		a := say("This ends in the middle of ")
		a.cut = true
		return a
	case "THINK":
		a := plainReply(r)
		a.thought = "Let me think about it."
		return a
	}
	if n := len(r.results); n == 1 && word == "WRITE" && strings.Contains(r.results[0], "with a shell command instead") {
		word, argument = "RUN", writing(argument) // as the agent was told
	} else if n > 0 {
		return say("The tool gave: " + clip(r.results[n-1], 2000))
	}
	c := r.use(word, argument)
	if c == nil {
		return say(fmt.Sprintf("There is no tool for %s among %s", word, strings.Join(r.toolNames(), ", ")))
	}
	out := say("I will use " + c.tool.name + ". ")
	out.call = c
	return out
}

func plainReply(r request) reply {
	return say(fmt.Sprintf("reply %d: you said %q", len(r.users), clip(r.lastUser(), 200)))
}

// refuse answers with a status; once only where the word says so.
func (s *script) refuse(r request, word, argument string) reply {
	status, err := strconv.Atoi(argument)
	if err != nil || status < 400 || status > 599 {
		return say(word + " needs a status from 400 to 599")
	}
	if word == "ERRONCE" {
		if _, before := s.refused.LoadOrStore(r.lastUser(), true); before {
			return plainReply(r)
		}
	}
	return reply{status: status}
}

func say(text string) reply { return reply{pieces: strings.SplitAfter(text, " ")} }

// smallest is a JSON text that fits a schema.
func smallest(schema object) string {
	var value func(object) any
	value = func(schema object) any {
		if words := list(schema["enum"]); len(words) > 0 {
			return words[len(words)-1]
		}
		switch strings.ToLower(str(schema["type"])) {
		case "object":
			fields := object{}
			for name, of := range objectOf(schema["properties"]) {
				fields[name] = value(objectOf(of))
			}
			return fields
		case "array":
			return []any{}
		case "number", "integer":
			return 1
		case "boolean":
			return false
		}
		return "scripted"
	}
	text, _ := json.Marshal(value(schema)) // our own values always encode
	return string(text)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
