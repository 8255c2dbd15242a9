package claude

import (
	"encoding/json"
	"strings"

	"paddock/internal/guestapi"
)

// unattended are tools by which the agent would act when no run is there: at a
// time of its choice, or when something happens.
var unattended = []string{"CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "Monitor"}

// keptDays is how long the agent keeps conversations: longer than any session.
const keptDays = 3650

// settings go before those of the agent's home.
type settings struct {
	NoHooks  bool              `json:"disableAllHooks"` // those of files; ours is none of them
	KeptDays int               `json:"cleanupPeriodDays"`
	Env      map[string]string `json:"env"`
}

func settingsOf(agent guestapi.Agent) settings {
	s := settings{NoHooks: true, KeptDays: keptDays, Env: map[string]string{
		// With --add-dir: the workspace's CLAUDE.md, of which no settings are read.
		"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1",
		// What goes on behind a turn would start turns of its own.
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
		// No call that only looks for a tool, and would be asked about.
		"ENABLE_TOOL_SEARCH": "false",
	}}
	if agent.Root {
		s.Env["IS_SANDBOX"] = "1"
	}
	return s
}

// server is an MCP server in the agent's words.
type server struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// argv is the agent's command line; session "" begins a conversation.
func argv(agent guestapi.Agent, dir, session string) []string {
	list := append([]string{}, agent.Argv...)
	list = append(list,
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages",
		"--permission-prompt-tool", "stdio", "--permission-mode", "default",
		"--setting-sources", "user", "--settings", text(settingsOf(agent)), "--add-dir", dir,
		"--disallowedTools", strings.Join(unattended, ","),
		"--strict-mcp-config",
	)
	if len(agent.Tools) > 0 {
		servers := map[string]server{}
		for _, t := range agent.Tools {
			if len(t.Command) > 0 {
				servers[t.Name] = server{Command: t.Command[0], Args: t.Command[1:], Env: t.Env}
			} else {
				servers[t.Name] = server{Type: "http", URL: t.URL, Headers: t.Headers}
			}
		}
		list = append(list, "--mcp-config", text(map[string]any{"mcpServers": servers}))
	}
	if session != "" {
		list = append(list, "--resume", session)
	}
	return list
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("claude: encode: " + err.Error()) // strings and numbers always encode
	}
	return string(b)
}
