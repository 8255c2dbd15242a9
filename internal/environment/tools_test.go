package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parsed reads a spec that is good and gives its warnings as lines.
func parsed(t *testing.T, text string) (Spec, string) {
	t.Helper()
	got, warnings, err := Parse([]byte(text), anyName)
	if err != nil {
		t.Fatal(err)
	}
	checkMarshal(t, got)
	var lines []string
	for _, w := range warnings {
		lines = append(lines, w.String())
	}
	return got, strings.Join(lines, "\n")
}

// faulty reads a spec that is not good and gives what is said of it.
func faulty(t *testing.T, text string) string {
	t.Helper()
	_, _, err := Parse([]byte(text), anyName)
	if err == nil {
		t.Fatalf("accepted:\n%s", text)
	}
	return err.Error()
}

func TestTools(t *testing.T) {
	got, warnings := parsed(t, `agent: custom
command: [x]
egress: [example.com, "*.example.org"]
tools:
- {name: docs, command: [docs-mcp, --stdio], env: {A: 1}}
- {name: far-away, url: "https://mcp.example.net:8443/x?y=1", headers: {Authorization: Bearer t}}
- {name: near, url: https://a.example.org/mcp}
- {name: own_1, url: http://localhost:8080/}
- {name: numbered, url: https://203.0.113.9/}
permissions:
  rules:
  - {tool: mcp.docs.search, action: allow}
  - {tool: mcp.dosc.search, action: deny}
  - {tool: mcp.*, action: ask}
`)
	want := []Tool{
		{Name: "docs", Command: []string{"docs-mcp", "--stdio"}, Env: map[string]string{"A": "1"}},
		{Name: "far-away", URL: "https://mcp.example.net:8443/x?y=1", Headers: map[string]string{"Authorization": "Bearer t"}},
		{Name: "near", URL: "https://a.example.org/mcp"},
		{Name: "own_1", URL: "http://localhost:8080/"},
		{Name: "numbered", URL: "https://203.0.113.9/"},
	}
	if diff := cmp.Diff(want, got.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if hosts := strings.Join(got.Egress.AllowHosts, " "); hosts != "example.com *.example.org mcp.example.net" {
		t.Errorf("hosts: %s", hosts)
	}
	if ips := got.Egress.AllowIPs; len(ips) != 1 || ips[0].String() != "203.0.113.9/32" {
		t.Errorf("addresses: %v", ips)
	}
	if diff := cmp.Diff(`line 6: tools: mcp.example.net was added to egress, for tool far-away
line 9: tools: 203.0.113.9 was added to egress, for tool numbered
line 13: permissions.rules: mcp.dosc.search: tools has no server "dosc"; did you mean docs?`, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if _, warnings := parsed(t, "agent: demo\ntools: [{name: a, command: [b]}]"); warnings != "line 2: tools: has no effect: agent demo takes no MCP servers" {
		t.Error(warnings)
	}
	if got, warnings := parsed(t, "agent: custom\ncommand: [x]\ntools: [{name: a, url: https://example.com}]"); warnings != "" || got.Egress.Limited {
		t.Error(warnings, got.Egress)
	}
}

func TestFaultsOfTools(t *testing.T) {
	const form = "it has a-z, 0-9, - and _, begins and ends with one of the former, and has at most 64 characters"
	for _, tc := range []struct{ tools, want string }{
		{`{a: b}`, "tools: wants a list such as [{name: docs, command: [docs-mcp, --stdio]}]"},
		{`[docs]`, "tools[0]: wants keys and values such as {name: docs, command: [docs-mcp, --stdio]}"},
		{`[{name: docs}]`, "tools[0]: has neither command nor url; write command: [docs-mcp, --stdio] or url: https://docs.example.com/mcp"},
		{`[{command: [x]}]`, "tools[0].name: is missing; rules name the server's tools by it, mcp.NAME.TOOL"},
		{`[{name: Docs, command: [x]}]`, `tools[0].name: "Docs" is no name; ` + form},
		{`[{name: -d, command: [x]}]`, `tools[0].name: "-d" is no name; ` + form},
		{`[{name: a__b, command: [x]}]`, `tools[0].name: "a__b" has __ in it, by which agents tell a server from its tools; write one _`},
		{`[{name: d, command: [x]}, {name: d, command: [y]}]`, `tools: name "d" stands twice; each server has its own`},
		{`[{name: d, command: [x], url: https://example.com}]`, "tools[0].url: goes not with command; a server is started or called"},
		{`[{name: d, command: []}]`, "tools[0].command: names no program; write a list such as [docs-mcp, --stdio]"},
		{`[{name: d, command: [x], headers: {A: b}}]`, "tools[0].headers: goes with url only; what a program is told goes into env or command"},
		{`[{name: d, url: https://example.com, env: {A: b}}]`, "tools[0].env: goes with command only; what a server behind a url is told goes into headers"},
		{`[{name: d, url: http://example.com}]`, "tools[0].url: http would carry headers and answers readable over the network; write https:// (http goes to the sandbox's own localhost only)"},
		{`[{name: d, url: ftp://example.com}]`, "tools[0].url: ftp:// is not supported; write https://"},
		{`[{name: d, url: example.com}]`, `tools[0].url: "example.com" is no address such as https://docs.example.com/mcp`},
		{`[{name: d, url: "https://u:p@example.com"}]`, "tools[0].url: has a password in it; write headers: {Authorization: …}"},
		{`[{name: d, url: "https://[2001:db8::1]/"}]`, `tools[0].url: "2001:db8::1" is IPv6, which sandboxes do not have`},
		{`[{name: d, url: "https://-x/"}]`, `tools[0].url: "-x" is no host's name such as example.com or *.example.com`},
		{`[{name: d, url: https://example.com, headers: {"A B": c}}]`, "tools[0].headers.A B: is no name of a header"},
		{`[{name: d, url: https://example.com, headers: {A: "b\nc"}}]`, "tools[0].headers.A: a header is one line"},
		{`[{name: d, comand: [x]}]`, "tools[0]: has neither command nor url; write command: [docs-mcp, --stdio] or url: https://docs.example.com/mcp\nline 3: tools[0].comand: unknown key; did you mean command?"},
	} {
		if diff := cmp.Diff("line 3: "+tc.want, faulty(t, "agent: custom\ncommand: [x]\ntools: "+tc.tools)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.tools, diff)
		}
	}
}
