package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/policy"
)

func TestPermissions(t *testing.T) {
	got, warnings, err := Parse([]byte(`agent: demo
permissions:
  defaultAction: allow
  rules:
    - tool: bash
      match: {command: 'rm *'}
      action: deny
      enforcement: strict
    - {match: {path: "~/.ssh/**"}, tool: file.write, action: deny, enforcement: best-effort}
    - {tool: mcp.docs.*, action: ask}
    - {tool: "*", action: allow}
  network:
    egress: [example.com]
`), anyName)
	if err != nil {
		t.Fatal(err)
	}
	checkMarshal(t, got)
	want := Permissions{Default: "allow", Network: "egress: [example.com]\n", Rules: []policy.Rule{
		{Tool: "bash", Match: map[string]string{"command": "rm *"}, Action: policy.Deny, Enforcement: policy.Strict},
		{Tool: "file.write", Match: map[string]string{"path": "~/.ssh/**"}, Action: policy.Deny, Enforcement: policy.BestEffort},
		{Tool: "mcp.docs.*", Action: policy.Ask}, {Tool: "*", Action: policy.Allow},
	}}
	if diff := cmp.Diff(want, got.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0].String(), "line 12: permissions.network: is kept, but nothing heeds it yet") {
		t.Errorf("warnings %v", warnings)
	}
	for _, r := range got.Permissions.Rules {
		if err := r.Check(); err != nil {
			t.Error(err)
		}
	}
	p := got.Permissions.Policy("/workspace", "/home/agent")
	if v := p.Decide(policy.Call{Tool: policy.FileWrite, Paths: []string{"/home/agent/.ssh/config"}}); v.Rule != 3 {
		t.Errorf("%+v", v)
	}
}

func TestPermissionFaults(t *testing.T) {
	for _, tc := range []struct {
		name, rules string
		want        []string
	}{
		{"no list", "{tool: bash}", []string{"line 2: permissions.rules: wants a list of rules such as - {tool: bash, match: {command: 'rm *'}, action: deny}"}},
		{"no mapping", "[bash]", []string{"line 2: permissions.rules[0]: wants keys and values such as {tool: bash, match: {command: 'rm *'}, action: deny}"}},
		{"nothing", "[{}]", []string{
			"line 2: permissions.rules[0].action: is missing; write one of allow, ask, deny",
			"line 2: permissions.rules[0].tool: is missing; write one such as bash, or * for any",
		}},
		{"mistyped", "[{tool: bsh, action: dny, enforcement: strct, mach: {}}]", []string{
			`line 2: permissions.rules[0].tool: "bsh" is none of bash, file.read, file.write, web.fetch, git.SUBCOMMAND, mcp.SERVER.TOOL, *; did you mean bash?`,
			`line 2: permissions.rules[0].action: "dny" is none of allow, ask, deny; did you mean deny?`,
			`line 2: permissions.rules[0].enforcement: "strct" is none of strict, best-effort; did you mean strict?`,
			"line 2: permissions.rules[0].mach: unknown key; did you mean match?",
		}},
		{"what is not matched", "[{match: {comand: x}, action: deny, tool: bash}, {tool: mcp.a.b, match: {path: x}, action: deny}]", []string{
			"line 2: permissions.rules[0].match.comand: bash is not matched by it; it may be matched by command; did you mean command?",
			"line 2: permissions.rules[1].match.path: mcp.a.b is not matched by it; only its name says which calls are meant",
		}},
		{"globs", "[{tool: bash, match: {command: ''}, action: deny}, {tool: file.read, match: {path: [x]}, action: deny}]", []string{
			"line 2: permissions.rules[0].match.command: is empty, which nothing fits; write * for anything",
			"line 2: permissions.rules[1].match.path: wants a text such as 'rm *'",
		}},
		{"too many", "[" + strings.Repeat("{tool: bash, action: deny},", 101) + "]", []string{"line 2: permissions.rules: has 101 rules, at most 100 are allowed"}},
		{"both spellings", "[],\n  default: ask,\n  defaultAction: ask", []string{"line 4: permissions.defaultAction: default and defaultAction are the same; write only default"}},
		{"network", "[],\n  network: none", []string{"line 3: permissions.network: wants keys and values such as egress: []"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := Parse([]byte("{agent: demo, permissions: {rules:\n"+tc.rules+"}}"), anyName)
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), err.Error()); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
