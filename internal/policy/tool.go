package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// The tools that rules name. Besides them a rule names git.SUBCOMMAND,
// mcp.SERVER.TOOL, or * for any tool; a * may stand for any of the words behind
// a dot.
const (
	Bash      = "bash" // a shell command
	FileRead  = "file.read"
	FileWrite = "file.write" // to write, move or remove a file
	WebFetch  = "web.fetch"
	Any       = "*"
)

// tools are the words and beginnings of words that rules may name, each with
// the keys by which it may be matched.
var tools = map[string][]string{
	Bash: {"command"}, FileRead: {"path"}, FileWrite: {"path"}, "file.*": {"path"}, WebFetch: {"host", "url"},
	"git.": {"command"}, "mcp.": {}, Any: {"command", "host", "path", "url"},
}

// Tools are the words by which rules name tools, for people.
func Tools() []string {
	return []string{Bash, FileRead, FileWrite, "file.*", WebFetch, "git.*", "mcp.*", Any}
}

// CheckTool says what is wrong with the name of a tool in a rule.
func CheckTool(name string) error {
	if _, ok := tools[name]; ok && !strings.HasSuffix(name, ".") {
		return nil
	}
	family, rest, _ := strings.Cut(name, ".")
	switch {
	case (family == "git" || family == "mcp") && rest != "" && !strings.ContainsAny(rest, " /\t\n"):
		return nil
	case family == "git":
		return fmt.Errorf("names no git command; write one such as git.push, or git.*")
	case family == "mcp":
		return fmt.Errorf("names no tool; write mcp.SERVER.TOOL, or mcp.SERVER.* for all of a server")
	}
	return fmt.Errorf("%q is none of bash, file.read, file.write, web.fetch, git.SUBCOMMAND, mcp.SERVER.TOOL, *", name)
}

// Keys are the keys by which a rule may match calls of a tool.
func Keys(tool string) []string {
	if keys, ok := tools[tool]; ok {
		return keys
	}
	family, _, _ := strings.Cut(tool, ".")
	return tools[family+"."]
}

// CheckGlob says what is wrong with a glob.
func CheckGlob(glob string) error { return checkGlob(glob) }

// Check says what is wrong with a rule, wherever it came from.
func (r Rule) Check() error {
	if err := CheckTool(r.Tool); err != nil {
		return fmt.Errorf("tool: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Match)) {
		if !slices.Contains(Keys(r.Tool), key) {
			return fmt.Errorf("match.%s: %s is not matched by it", key, r.Tool)
		}
		if err := checkGlob(r.Match[key]); err != nil {
			return fmt.Errorf("match.%s: %w", key, err)
		}
	}
	if !slices.Contains(Actions, string(r.Action)) {
		return fmt.Errorf("action: %q is none of %s", r.Action, strings.Join(Actions, ", "))
	}
	if r.Enforcement != "" && !slices.Contains(Enforcements, string(r.Enforcement)) {
		return fmt.Errorf("enforcement: %q is none of %s", r.Enforcement, strings.Join(Enforcements, ", "))
	}
	return nil
}

// absolute writes the path of a glob or call in full. Links are not followed.
func (p Policy) absolute(name, dir string) string {
	if dir == "" {
		dir = p.Workspace
	}
	folder := strings.HasSuffix(name, "/") && name != "/"
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		name = path.Join(p.Home, name[1:])
	case !path.IsAbs(name):
		name = path.Join(dir, name)
	default:
		name = path.Clean(name)
	}
	if folder {
		name += "/**"
	}
	return name
}
