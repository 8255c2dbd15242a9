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

// everythingOpen is an engine that is good for notes alone.
var everythingOpen = &Engine{closed: func(netip.Prefix) string { return "" }}

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
		notes := strings.Join(everythingOpen.agentNotes(spec), "; ")
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
		if notes := strings.Join(everythingOpen.agentNotes(c.spec), "; "); !strings.Contains(notes, c.note) || (notes == "") != (c.note == "") {
			t.Errorf("%s: %q", c.name, notes)
		}
	}
}

func TestModelThatIsNotNamedIsWarnedOf(t *testing.T) {
	const base, note = "COPILOT_PROVIDER_BASE_URL", "env: agent copilot needs COPILOT_MODEL, too: which model of the server that COPILOT_PROVIDER_BASE_URL names"
	for _, c := range []struct {
		name string
		spec environment.Spec
		want string
	}{
		{"none", environment.Spec{Agent: "copilot", Template: "host", Env: map[string]string{base: "http://far.test/v1"}}, note},
		{"one", environment.Spec{Agent: "copilot", Template: "host", Env: map[string]string{base: "http://far.test/v1", "COPILOT_MODEL": "m"}}, ""},
		{"of its makers", environment.Spec{Agent: "copilot", Template: "host", Env: map[string]string{"COPILOT_GITHUB_TOKEN": "t"}}, ""},
		{"an image's", environment.Spec{Agent: "copilot", Image: "debian:13", Env: map[string]string{base: "http://far.test/v1"}}, ""},
	} {
		if got := strings.Join(everythingOpen.agentNotes(c.spec), "; "); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// A host that a limited egress does not list is told of once, whoever needs it.
func TestOneWarningForAHost(t *testing.T) {
	for text, host := range map[string]string{
		"agent: claude-code\negress: [example.org]\nsecrets: {ANTHROPIC_API_KEY: sk-ant-1}\nenv: {ANTHROPIC_BASE_URL: 'https://far.test/v1'}": "far.test",
		"agent: codex\negress: [example.org]\nsecrets: {OPENAI_API_KEY: {value: sk-123, host: api.openai.com}}":                               "api.openai.com",
		"agent: codex\negress: [example.org]\nenv: {OPENAI_API_KEY: sk-123}":                                                                  "api.openai.com",
	} {
		spec, warnings, err := environment.Parse([]byte(text), session.CheckName)
		if err != nil {
			t.Fatal(err)
		}
		all := everythingOpen.agentNotes(spec)
		for _, w := range warnings {
			all = append(all, w.String())
		}
		if len(all) != 1 || !strings.Contains(all[0], host) || !strings.Contains(all[0], "egress") {
			t.Errorf("%q: %q", text, all)
		}
		if got := egressOf(spec); !slices.Contains(got.Hosts, host) {
			t.Errorf("%q: %v", text, got.Hosts)
		}
	}
}

// Addresses that stay closed on this server are named at a create and at that of an
// environment, those of an agent's model, too.
func TestClosedAddressesAreWarnedOf(t *testing.T) {
	e := &Engine{closed: func(net netip.Prefix) string {
		if net.Addr().Is4() && net.Addr().As4()[0] == 10 {
			return net.String() + " stays closed: it is of the test"
		}
		return ""
	}}
	agent := environment.Spec{Agent: "codex", Template: "host", Env: map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://10.0.0.1/v1"}}
	limited := agent
	limited.Egress = environment.Egress{Limited: true}
	for _, c := range []struct {
		name string
		spec environment.Spec
		want []string
	}{
		{"listed", environment.Spec{Agent: "demo", Egress: environment.Egress{Limited: true, AllowIPs: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("203.0.113.0/24"),
		}}}, []string{"egress.allow_ips: 10.0.0.0/8 stays closed: it is of the test"}},
		{"of a model", agent, []string{"env: agent codex is told to connect to an address that it cannot reach: 10.0.0.1/32 stays closed: it is of the test"}},
		{"of a model, in a list", limited, []string{"env: agent codex is told to connect to an address that it cannot reach: 10.0.0.1/32 stays closed: it is of the test"}},
		{"nothing", environment.Spec{Agent: "demo"}, nil},
	} {
		if got := slices.Concat(e.agentNotes(c.spec), e.closedNotes(c.spec)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	many := environment.Spec{Agent: "demo", Egress: environment.Egress{Limited: true}}
	for i := range byte(mostClosed + 3) {
		many.Egress.AllowIPs = append(many.Egress.AllowIPs, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, i}), 32))
	}
	if got := e.closedNotes(many); len(got) != mostClosed+1 || got[mostClosed] != "egress.allow_ips: 3 more that it lists stay closed" {
		t.Errorf("%q", got)
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
