package acp

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

const (
	maxSummary    = 4 << 10  // bytes of a tool's output that its end keeps
	maxToolOutput = 64 << 10 // bytes of a tool's output that are logged while it runs
)

// tool is what is known of one tool call. Updates bring it in pieces.
type tool struct {
	id     string
	called string // its label when its start was reported: what people know it by
	name   string
	title  string
	kind   string
	input  json.RawMessage
	output json.RawMessage // rawOutput
	meta   json.RawMessage
	paths  []string
	text   string // of its content: replaced as a whole by each update that has one
	last   string // the text when it was last logged
	logged int    // bytes that were logged
	done   bool
	seen   time.Time
	began  time.Time // zero until the agent says in_progress
}

// learn takes over what an update says; what it leaves out stays. It says
// whether the input is another now.
func (t *tool) learn(u update) (newInput bool) {
	before := string(t.input)
	set(&t.name, u.Name)
	if t.name == "" {
		set(&t.name, asString(asObject(asObject(u.Meta)["claudeCode"])["toolName"]))
	}
	set(&t.title, u.Title)
	set(&t.kind, u.ToolKind)
	setRaw(&t.input, u.RawInput)
	setRaw(&t.output, u.RawOutput)
	setRaw(&t.meta, u.Meta)
	for _, l := range u.Locations {
		t.paths = append(t.paths, l.Path)
	}
	var list []toolContent
	newInput = string(t.input) != before
	if json.Unmarshal(u.Content, &list) != nil || len(list) == 0 {
		return newInput
	}
	var texts []string
	for _, c := range list {
		switch c.Type {
		case "content":
			texts = append(texts, c.Content.Text)
		case "diff":
			t.paths = append(t.paths, c.Path)
			texts = append(texts, "diff of "+c.Path)
		}
	}
	t.text = strings.Join(texts, "\n")
	return newInput
}

func set(field *string, value string) {
	if value != "" {
		*field = value
	}
}

func setRaw(field *json.RawMessage, value json.RawMessage) {
	if s := string(value); s != "" && s != "null" && s != "{}" {
		*field = value
	}
}

// label names the tool for people.
func (t *tool) label() string {
	for _, s := range []string{t.name, t.title, t.kind} {
		if s != "" {
			return s
		}
	}
	return "tool"
}

// freshOutput gives the text that was added since it was last asked. Most agents
// send the whole each time; of others the whole is fresh.
func (t *tool) freshOutput() string {
	if t.logged >= maxToolOutput || t.text == t.last {
		return ""
	}
	fresh := strings.TrimPrefix(t.text, t.last)
	t.last = t.text
	t.logged += len(fresh)
	if over := t.logged - maxToolOutput; over >= 0 {
		fresh = fresh[:len(fresh)-over] + "\n(more is not logged; the end of the call has a summary)"
		t.last = ""
	}
	return strings.ToValidUTF8(fresh, "\uFFFD")
}

// command is the command line of an execute call; guessed when it is no more
// than the title.
func (t *tool) command() (line string, guessed bool) {
	in := asObject(t.input)
	for _, key := range []string{"command", "cmd"} {
		if s := asString(in[key]); s != "" {
			return s, false
		}
		var words []string
		if json.Unmarshal(in[key], &words) == nil && len(words) > 0 {
			return shellLine(words), false
		}
	}
	return t.title, true
}

// shellLine writes words as a shell reads them, so that each stays one.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.Trim(w, plainInShell) != "" {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// plainInShell are characters that mean only themselves to a shell.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,@%="

// path is the file that a call is about.
func (t *tool) path() string {
	in := asObject(t.input)
	for _, key := range []string{"path", "file_path", "filePath", "abs_path"} {
		if s := asString(in[key]); s != "" {
			return s
		}
	}
	if len(t.paths) > 0 {
		return t.paths[0]
	}
	return ""
}

// files are all files that a call names.
func (t *tool) files() []string {
	var list []string
	if one := t.path(); one != "" {
		list = append(list, one)
	}
	for _, name := range t.paths {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// address is what a call fetches.
func (t *tool) address() string {
	in := asObject(t.input)
	for _, key := range []string{"url", "uri", "href"} {
		if s := asString(in[key]); s != "" {
			return s
		}
	}
	return ""
}

// summary is the tool's output, its end where it is long: that is where the
// result of a command stands.
func (t *tool) summary() string {
	s := t.text
	if s == "" {
		s = outputText(t.output)
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxSummary {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-maxSummary:], "")
}

func outputText(raw json.RawMessage) string {
	if s := asString(raw); s != "" {
		return s
	}
	o := asObject(raw)
	known := len(raw) == 0 || string(raw) == "null" || string(raw) == `""`
	for _, key := range []string{"output", "stdout", "formatted_output", "content", "error"} {
		if s := asString(o[key]); s != "" {
			return s
		}
		known = known || string(o[key]) == `""`
	}
	if known {
		return "" // it says that there is none
	}
	return string(raw)
}

// exitCode is the status of a command, where the agent tells it.
func (t *tool) exitCode() *int {
	out := asObject(t.output)
	for _, candidate := range []json.RawMessage{
		out["exitCode"], out["exit_code"], asObject(out["metadata"])["exit"], asObject(out["metadata"])["exitCode"],
		asObject(asObject(t.meta)["terminal_exit"])["exit_code"],
	} {
		var code *int
		if json.Unmarshal(candidate, &code) == nil && code != nil {
			return code
		}
	}
	return nil
}
