package codex

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"paddock/internal/guestapi"
)

// The words after the guest's program that make it the hook and the gate.
const (
	HookWord = "codex-hook"
	GateWord = "codex-gate"
)

// hookCommand is what Codex runs before every call. What goes wrong with a hook
// lets the call pass, unless it ends with 2.
const hookCommand = guestapi.GuestPath + " " + HookWord + " || exit 2"

// gateCommand is what a command that a person decides on becomes. It is a plain
// word and an id, since rules see through nothing more.
func gateCommand(id string) string { return guestapi.GuestPath + " " + GateWord + " " + id }

// hookTimeout is how long Codex waits for the hook, in seconds: longer than the
// hook ever takes.
const hookTimeout = 60

// requirements is the file of what nobody but root can change: the hook, the rule
// about the gate, and off is what goes past both. Without a terminal a command's
// standard input is closed, so nothing can be typed into one that was allowed.
func requirements(dir string) string {
	return strings.Join([]string{
		`allow_managed_hooks_only = true`,
		`allowed_approval_policies = ["on-request"]`,
		`allowed_approvals_reviewers = ["user"]`,
		`allowed_web_search_modes = ["disabled"]`,
		``,
		`[features]`,
		`hooks = true`,
		`unified_exec_tty = false`,
		`multi_agent = false`,
		`multi_agent_v2 = false`,
		``,
		`[rules]`,
		`prefix_rules = [{ pattern = [{ token = ` + quoted(guestapi.GuestPath) + ` }, { token = ` + quoted(GateWord) + ` }], decision = "prompt", justification = "the policy asks" }]`,
		``,
		`[hooks]`,
		`managed_dir = ` + quoted(dir),
		``,
		`[[hooks.PreToolUse]]`,
		`matcher = ".*"`,
		``,
		`[[hooks.PreToolUse.hooks]]`,
		`type = "command"`,
		`command = ` + quoted(hookCommand),
		fmt.Sprintf(`timeout = %d`, hookTimeout),
		``,
	}, "\n")
}

// Where the model is, and what names another.
const (
	modelVariable = "CODEX_MODEL"
	baseVariable  = "OPENAI_BASE_URL"
	keyVariable   = "OPENAI_API_KEY"
	keyOtherwise  = "CODEX_API_KEY"
	openAI        = "https://api.openai.com/v1"
)

// retries is how often a request, and a stream that broke, is tried again.
const retries = 4

// settings is the file that goes before the user's own settings. Off is what
// wants an account, goes outside, goes past the hook, or writes the variables of
// the agent, secrets among them, into a file.
func settings(env map[string]string, tools []guestapi.Tool) string {
	lines, key := []string{`model_provider = "paddock"`}, keyVariable
	if env[keyVariable] == "" && env[keyOtherwise] != "" {
		key = keyOtherwise
	}
	if model := env[modelVariable]; model != "" {
		lines = append(lines, `model = `+quoted(model))
	}
	lines = append(lines,
		`approval_policy = "on-request"`,
		`approvals_reviewer = "user"`,
		`web_search = "disabled"`,
		`check_for_update_on_startup = false`,
		`suppress_unstable_features_warning = true`,
		``,
		`[features]`,
		`default_mode_request_user_input = true`,
		`unbounded_connection_retries = false`,
	)
	for _, off := range []string{
		"apps", "plugins", "remote_plugin", "image_generation", "view_image", "memories", "goals", "tool_suggest", "sleep_tool", "skill_search", "shell_snapshot",
	} {
		lines = append(lines, off+` = false`)
	}
	lines = append(lines,
		``,
		`[analytics]`,
		`enabled = false`,
		``,
		`[model_providers.paddock]`,
		`name = "OpenAI"`,
		`base_url = `+quoted(cmp.Or(env[baseVariable], openAI)),
		`env_key = `+quoted(key),
		`wire_api = "responses"`,
		fmt.Sprintf(`request_max_retries = %d`, retries),
		fmt.Sprintf(`stream_max_retries = %d`, retries),
		``,
	)
	for _, t := range tools {
		lines = append(lines, server(t)...)
	}
	return strings.Join(lines, "\n")
}

// server is an MCP server. Codex is to ask about each of its calls: where the
// policy has decided the adapter answers, where a person decides it waits.
func server(t guestapi.Tool) []string {
	lines := []string{`[mcp_servers.` + quoted(t.Name) + `]`}
	if len(t.Command) > 0 {
		lines = append(lines, `command = `+quoted(t.Command[0]), `args = `+array(t.Command[1:]), `env = `+table(t.Env))
	} else {
		lines = append(lines, `url = `+quoted(t.URL), `http_headers = `+table(t.Headers))
	}
	return append(lines, `default_tools_approval_mode = "prompt"`, `startup_timeout_sec = 30`, ``)
}

// configure writes both files, for root alone to change.
func configure(dir string, env map[string]string, tools []guestapi.Tool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of codex's settings: %w", err)
	}
	for name, text := range map[string]string{"requirements.toml": requirements(dir), "managed_config.toml": settings(env, tools)} {
		if err := replace(filepath.Join(dir, name), text); err != nil {
			return fmt.Errorf("write codex's settings: %w", err)
		}
	}
	return nil
}

// replace writes a file whole or not at all.
func replace(name, text string) error {
	fresh := name + ".new"
	if err := os.WriteFile(fresh, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, name)
}
