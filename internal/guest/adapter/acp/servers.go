package acp

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// servers are the MCP servers in ACP's words. Every agent starts programs; of one
// that does not call servers over HTTP, those are kept, and the history says so.
func (a *adapter) servers(p *process) []mcpServer {
	list := []mcpServer{}
	for _, t := range a.agent.Tools {
		switch {
		case len(t.Command) > 0:
			args, env := append([]string{}, t.Command[1:]...), pairs(t.Env)
			list = append(list, mcpServer{Name: t.Name, Command: a.program(t), Args: &args, Env: &env})
		case p.capabilities.Capabilities.MCP.HTTP:
			headers := pairs(t.Headers)
			list = append(list, mcpServer{Type: "http", Name: t.Name, URL: t.URL, Headers: &headers})
		default:
			a.log(event.Log{
				Level:   "warn",
				Message: fmt.Sprintf("tool %s is not given to agent %s, which calls no MCP servers over HTTP; one with a command would be", t.Name, a.agent.Name),
				Fields:  map[string]any{"reason": "tool_not_given", "tool": t.Name},
			}, guest.Source{})
		}
	}
	return list
}

// program is the path of a server's program, as ACP wants it. Where it is not
// found the agent looks for it by itself, and says so.
func (a *adapter) program(t guestapi.Tool) string {
	for _, path := range []string{t.Env["PATH"], a.agent.Env["PATH"], proc.DefaultPath} {
		if found := proc.LookPath(t.Command[0], a.dir, path); found != "" && path != "" {
			if !filepath.IsAbs(found) {
				found = filepath.Join(a.dir, found)
			}
			return found
		}
	}
	return t.Command[0]
}

// serverTool is the name by which rules know a tool of one of the servers, ""
// where a call is of another. Agents call it SERVER_TOOL.
func (a *adapter) serverTool(t *tool) string {
	if t.kind != "" && t.kind != "other" {
		return "" // the agent's own, whatever its name is
	}
	server, tool := "", ""
	for _, s := range a.agent.Tools {
		rest, ok := strings.CutPrefix(t.called, unplain.Replace(s.Name)+"_")
		if ok && rest != "" && len(s.Name) > len(server) {
			server, tool = s.Name, rest
		}
	}
	if server == "" {
		return ""
	}
	return "mcp__" + server + "__" + tool
}

// unplain writes a server's name as agents do in names of tools.
var unplain = strings.NewReplacer(".", "_", "-", "_", " ", "_")

func pairs(m map[string]string) []pair {
	list := []pair{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, pair{name, m[name]})
	}
	return list
}
