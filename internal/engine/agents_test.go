package engine

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"paddock/internal/agents"
	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/session"
)

func TestAgentHosts(t *testing.T) {
	limited := environment.Egress{Limited: true, AllowHosts: []string{"example.org"}}
	for _, c := range []struct {
		name, agent string
		env         map[string]string
		hosts       string
		note        string
	}{
		{"the key's", "codex", map[string]string{"OPENAI_API_KEY": "k"}, "api.openai.com", "agent codex needs api.openai.com"},
		{"without a key", "claude-code", nil, "api.anthropic.com", "api.anthropic.com"},
		{"of another server", "claude-code", map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://Example.org/v1"}, "example.org", ""},
		{"in a document", "opencode", map[string]string{"OPENCODE_CONFIG_CONTENT": `{"provider":{"a":{"options":{"baseURL":"http://far.test/v1"}}}}`}, "far.test models.dev", "far.test"},
		{"nobody's", "demo", nil, "", ""},
	} {
		spec := environment.Spec{Agent: c.agent, Env: c.env, Egress: limited}
		hosts, _ := agentHosts(spec)
		notes := strings.Join(agentNotes(spec), "; ")
		if strings.Join(hosts, " ") != c.hosts || !strings.Contains(notes, c.note) || (notes == "") != (c.note == "") {
			t.Errorf("%s: %v, %q", c.name, hosts, notes)
		}
		if got := egressOf(spec); got.All || !slices.Equal(got.Hosts, append([]string{"example.org"}, hosts...)) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	spec := environment.Spec{Agent: "codex", Env: map[string]string{"OPENAI_BASE_URL": "http://192.0.2.1:80/v1"}, Egress: limited}
	if _, nets := agentHosts(spec); len(nets) != 1 || nets[0] != netip.MustParsePrefix("192.0.2.1/32") {
		t.Error(nets)
	}
	if got := egressOf(environment.Spec{Agent: "codex"}); !got.All || got.Hosts != nil {
		t.Errorf("%+v", got)
	}
}

func TestAgentWithoutAKeyIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		name string
		spec environment.Spec
		note string
	}{
		{"none", environment.Spec{Agent: "codex", Template: "host"}, "agent codex has no key, without which its model answers nothing: OPENAI_API_KEY or CODEX_API_KEY"},
		{"a server alone", environment.Spec{Agent: "claude-code", Template: "host", Env: map[string]string{"ANTHROPIC_BASE_URL": "http://far.test"}}, "no key"},
		{"one", environment.Spec{Agent: "codex", Template: "host", Env: map[string]string{"CODEX_API_KEY": "k"}}, ""},
		{"a cloud's", environment.Spec{Agent: "claude-code", Template: "host", Env: map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}}, ""},
		{"an image's", environment.Spec{Agent: "codex", Image: "debian:13"}, ""},
		{"a free model's", environment.Spec{Agent: "opencode", Template: "host"}, ""},
		{"nobody's", environment.Spec{Agent: "demo", Template: "host"}, ""},
	} {
		if notes := strings.Join(agentNotes(c.spec), "; "); !strings.Contains(notes, c.note) || (notes == "") != (c.note == "") {
			t.Errorf("%s: %q", c.name, notes)
		}
	}
}

// What a spec gives an agent's settings stays, with ours over it.
func TestOverlay(t *testing.T) {
	a, _ := agents.Find("opencode")
	env := map[string]string{"OPENCODE_CONFIG_CONTENT": `{"model":"m","permission":{"bash":"allow","*":"allow"},"instructions":["a.md"]}`}
	text, err := overlaid(a, env)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"model":"m"`, `"permission":{"*":"ask"}`, `"instructions":["a.md","/workspace/AGENTS.md"]`, `"share":"disabled"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	got := agentOf(session.Session{AdapterVersion: "1.2"}, environment.Spec{Agent: "opencode", Env: env})
	if got.Env["OPENCODE_CONFIG_CONTENT"] != text || got.Argv[0] != "/opt/paddock/agents/opencode/1.2/bin/opencode" || got.Adapter != "acp" || got.Mode != "build" {
		t.Errorf("%+v", got)
	}
	env["OPENCODE_CONFIG_CONTENT"] = "{"
	if _, err := overlaid(a, env); !fault.Is(err, fault.BadRequest) {
		t.Error(err)
	}
}

// The view of this machine is no template that is kept, and that is said.
func TestHostIsNoTemplate(t *testing.T) {
	h := newHouse(t)
	for name, want := range map[string]string{"host": "a view of this machine's own system", "nosuch": "no template"} {
		if _, err := h.Template(t.Context(), h.team, name); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
