package claude

import (
	"encoding/json"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest/adapter/named"
)

// maxSummary is how much of a tool's output its end keeps, in bytes.
const maxSummary = 4 << 10

// tool is what is known of one tool call.
type tool struct {
	id    string
	name  string
	input json.RawMessage
	seen  time.Time
	done  bool
}

// kinds says what the agent's tools do. An MCP server's, and those that only
// touch the agent itself, are of no kind.
var kinds = map[string]string{
	"Bash": "execute", "Monitor": "execute",
	"Read": "read", "NotebookRead": "read",
	"Glob": "search", "Grep": "search", "LS": "search",
	"Write": "edit", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit",
	"WebFetch": "fetch", "WebSearch": "fetch",
	"EnterPlanMode": "switch_mode", "ExitPlanMode": "switch_mode",
	"Task": "think", "Agent": "think",
}

func (t *tool) kind() string {
	if kind := kinds[t.name]; kind != "" {
		return kind
	}
	return "other"
}

// inputs are the fields of tools that say what they are about.
type inputs struct {
	Command  string `json:"command"`
	FilePath string `json:"file_path"`
	Notebook string `json:"notebook_path"`
	Path     string `json:"path"`
	Pattern  string `json:"pattern"`
	URL      string `json:"url"`
	Query    string `json:"query"`
	Title    string `json:"description"`
}

// describe says what a tool call wants to do, in the words of the public
// protocol where it has any.
func (t *tool) describe(dir string) (event.Action, event.AskDetails) {
	d := event.AskDetails{Tool: t.name, Kind: t.kind(), Input: t.input, Editable: true}
	var in inputs
	_ = json.Unmarshal(t.input, &in) // a field of another form is not known
	d.Title = in.Title
	switch d.Kind {
	case "execute":
		d.Command = in.Command
		return event.ActionBash, d
	case "fetch":
		d.URL = in.URL
		if d.URL == "" {
			d.Title = in.Query
		}
		return event.ActionUnspecified, d
	case "search":
		// What a search in a folder reads is not known before.
		d.Path = in.Path
		if d.Path == "" {
			d.Path = dir
		}
		d.Title = in.Pattern
		if isFile(dir, in.Path) {
			d.Paths = named.Files(dir, []string{in.Path})
		}
		return event.ActionUnspecified, d
	case "read", "edit":
		if d.Path = in.FilePath; d.Path == "" {
			d.Path = in.Notebook
		}
		if d.Path != "" {
			d.Paths = named.Files(dir, []string{d.Path})
		}
	}
	if d.Kind == "edit" && slices.ContainsFunc(d.Paths, func(name string) bool { return !named.Below(dir, name) }) {
		return event.ActionWriteOutside, d
	}
	return event.ActionUnspecified, d
}

func isFile(dir, name string) bool {
	if name == "" {
		return false
	}
	if !path.IsAbs(name) {
		name = path.Join(dir, name)
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// exitLine is how the agent tells that a command failed.
var exitLine = regexp.MustCompile(`^(?:Error: )?Exit code (\d{1,3})(?:\n|$)`)

// exitCode is that of a command that failed; the agent tells no other.
func (t *tool) exitCode(ok bool, output string) *int {
	if ok || t.kind() != "execute" {
		return nil
	}
	m := exitLine.FindStringSubmatch(output)
	if m == nil {
		return nil
	}
	code, err := strconv.Atoi(m[1])
	if err != nil {
		return nil
	}
	return &code
}

// summary is a tool's output, its end where it is long: that is where the result
// of a command stands.
func summary(output string) string {
	s := strings.ToValidUTF8(output, "\uFFFD")
	if len(s) <= maxSummary {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-maxSummary:], "")
}

// decode reads JSON as far as it is what it should be.
func decode(raw json.RawMessage, into any) bool { return json.Unmarshal(raw, into) == nil }
