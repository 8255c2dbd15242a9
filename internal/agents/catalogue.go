package agents

// The hosts of models that more than one agent may use.
const (
	anthropic  = "api.anthropic.com"
	openAI     = "api.openai.com"
	gemini     = "generativelanguage.googleapis.com"
	openRouter = "openrouter.ai"
)

// anyModel is the keys of agents that speak to whatever model has one.
var anyModel = []Key{
	{Variable: "ANTHROPIC_API_KEY", Host: anthropic, BaseURL: "ANTHROPIC_BASE_URL"},
	{Variable: "OPENAI_API_KEY", Host: openAI, BaseURL: "OPENAI_BASE_URL"},
	{Variable: "GEMINI_API_KEY", Host: gemini},
	{Variable: "OPENROUTER_API_KEY", Host: openRouter},
}

var catalogue = []Agent{
	{
		Name: "claude-code", Title: "Claude Code", Aliases: []string{"claude", "claude_code", "claudecode"}, Kind: "AGENT_KIND_CLAUDE_CODE",
		Adapter: "claude", Package: "@anthropic-ai/claude-code", Version: "2.1.332", Command: "claude",
		Program: []string{"node_modules/@anthropic-ai/claude-code-linux-*/claude"},
		Trim:    []string{"node_modules/@anthropic-ai/claude-code"},
		Skills:  Skills{Folder: ".claude/skills", Variable: "CLAUDE_CONFIG_DIR"},
		Env: map[string]string{
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			"DISABLE_AUTOUPDATER":                      "1",
		},
		Keys: []Key{
			{Variable: "ANTHROPIC_API_KEY", Host: anthropic, BaseURL: "ANTHROPIC_BASE_URL"},
			{Variable: "ANTHROPIC_AUTH_TOKEN", Host: anthropic, BaseURL: "ANTHROPIC_BASE_URL"},
			{Variable: "CLAUDE_CODE_OAUTH_TOKEN", Host: anthropic, BaseURL: "ANTHROPIC_BASE_URL"},
		},
		Mediation: Full,
	},
	{
		Name: "codex", Title: "Codex", Aliases: []string{"codex-cli", "codex_cli", "codex-agentapi", "openai-codex", "openai_codex"}, Kind: "AGENT_KIND_CODEX_CLI",
		Adapter: "codex", Package: "@openai/codex", Version: "0.171.0", Command: "codex",
		Program: []string{"node_modules/@openai/codex-linux-*/vendor/*/bin/codex"},
		Trim:    []string{"node_modules/@openai/codex-linux-*/vendor/*/codex-resources/voice"},
		Skills:  Skills{Folder: ".codex/skills", Variable: "CODEX_HOME"},
		Keys: []Key{
			{Variable: "OPENAI_API_KEY", Host: openAI, BaseURL: "OPENAI_BASE_URL"},
			{Variable: "CODEX_API_KEY", Host: openAI, BaseURL: "OPENAI_BASE_URL"},
		},
		Mediation: Full,
	},
	{
		Name: "opencode", Title: "OpenCode", Aliases: []string{"opencode-ai", "open-code"}, Kind: "AGENT_KIND_OPENCODE",
		Adapter: "acp", Package: "opencode-ai", Version: "1.18.33", Command: "opencode",
		// The baseline one runs on every processor.
		Program: []string{"node_modules/opencode-linux-*-baseline/bin/opencode", "node_modules/opencode-linux-*/bin/opencode"},
		Trim:    []string{"node_modules/opencode-ai", "node_modules/opencode-linux-x64"},
		Args:    []string{"acp"},
		Env: map[string]string{
			"OPENCODE_DISABLE_AUTOUPDATE":   "1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
			"OPENCODE_DISABLE_SHARE":        "1",
			// A repository could have it ask no more; only what it says in words is
			// read, which the overlay sees to.
			"OPENCODE_DISABLE_PROJECT_CONFIG": "1",
		},
		Overlay: Overlay{Variable: "OPENCODE_CONFIG_CONTENT", Object: `{"autoupdate":false,"share":"disabled","permission":{"*":"ask"},"instructions":["/workspace/AGENTS.md"]}`, BaseURL: "baseURL"},
		Mode:    "build",
		Keys:    anyModel,
		Hosts:   []string{"models.dev"},
		// All calls, until it changes its own settings in its home and starts anew.
		Mediation: AskedOnly,
	},
	{
		Name: "copilot", Title: "GitHub Copilot CLI", Aliases: []string{"copilot-cli", "github-copilot"},
		Adapter: "acp", Package: "@github/copilot", Version: "1.0.102", Command: "copilot",
		Program: []string{"node_modules/@github/copilot-linux-*/copilot"},
		Trim:    []string{"node_modules/@github/copilot"},
		Args:    []string{"--acp", "--no-auto-update"},
		Env:     map[string]string{"COPILOT_AUTO_UPDATE": "false"},
		Mode:    "https://agentclientprotocol.com/protocol/session-modes#agent",
		Keys: []Key{
			{Variable: "COPILOT_PROVIDER_API_KEY", BaseURL: "COPILOT_PROVIDER_BASE_URL", Model: "COPILOT_MODEL"},
			{Variable: "COPILOT_GITHUB_TOKEN", Host: "api.github.com"},
		},
		Hosts:     []string{"*.githubcopilot.com"},
		Mediation: AskedOnly,
	},
	{
		Name: "gemini", Title: "Gemini CLI", Aliases: []string{"gemini-cli"},
		Adapter: "acp", Package: "@google/gemini-cli", Version: "0.61.0", Command: "gemini",
		Program: []string{"node_modules/@google/gemini-cli/bundle/gemini.js"}, Node: true,
		Args: []string{"--acp"},
		Env: map[string]string{
			"GEMINI_CLI_TRUST_WORKSPACE":      "true",
			"GEMINI_CLI_SYSTEM_SETTINGS_PATH": Dir + "/paddock/settings.json",
		},
		Files: map[string]string{
			"paddock/settings.json": `{"general":{"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"security":{"auth":{"selectedType":"gemini-api-key"}},"policyPaths":["` + Dir + `/paddock/policy.toml"]}`,
			"paddock/policy.toml":   "[[rule]]\ntoolName = \"*\"\ndecision = \"ask_user\"\npriority = 900\n",
		},
		Auth: "gemini-api-key", Mode: "default",
		Keys:      []Key{{Variable: "GEMINI_API_KEY", Host: gemini, BaseURL: "GOOGLE_GEMINI_BASE_URL"}},
		Mediation: AskedOnly,
	},
	{
		Name: "qwen", Title: "Qwen Code", Aliases: []string{"qwen-code"},
		Adapter: "acp", Package: "@qwen-code/qwen-code", Version: "0.15.10", Command: "qwen",
		Program: []string{"node_modules/@qwen-code/qwen-code/cli.js"}, Node: true,
		Args: []string{"--acp"},
		Auth: "openai", Mode: "default",
		Keys:      []Key{{Variable: "OPENAI_API_KEY", Host: openAI, BaseURL: "OPENAI_BASE_URL"}},
		Mediation: AskedOnly,
	},
	{
		Name: "goose", Title: "Goose", Adapter: "acp", Command: "goose", Args: []string{"acp"},
		Obtain:    "goose is no npm package: install it on the server's machine as its makers say, into /usr/local/bin, or have it in a template",
		Env:       map[string]string{"GOOSE_MODE": "approve", "GOOSE_DISABLE_KEYRING": "1"},
		Keys:      anyModel,
		Mediation: AskedOnly,
	},
	{
		Name: "kimi", Title: "Kimi CLI", Aliases: []string{"kimi-cli"}, Adapter: "acp", Command: "kimi", Args: []string{"acp"},
		Obtain:    "kimi is no npm package: install it on the server's machine as its makers say, into /usr/local/bin, or have it in a template",
		Keys:      []Key{{Variable: "KIMI_API_KEY", Host: "api.moonshot.ai", BaseURL: "KIMI_BASE_URL"}},
		Mediation: AskedOnly,
	},
	{
		Name: "cursor", Title: "Cursor CLI", Aliases: []string{"cursor-cli", "cursor-agent"}, Kind: "AGENT_KIND_CURSOR_CLI",
		Adapter: "acp", Command: "cursor-agent", Args: []string{"acp"},
		Obtain:    "cursor is no npm package: install it on the server's machine as its makers say, into /usr/local/bin, or have it in a template",
		Keys:      []Key{{Variable: "CURSOR_API_KEY", Host: "api2.cursor.sh"}},
		Hosts:     []string{"*.cursor.sh"},
		Mediation: AskedOnly,
	},
}
