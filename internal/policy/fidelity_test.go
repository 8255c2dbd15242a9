package policy

import "testing"

func TestFidelity(t *testing.T) {
	demo, custom := Mediation{Agent: "demo", Unasked: []string{FileRead}}, Mediation{Agent: "custom", Unproven: true}
	for _, c := range []struct {
		m    Mediation
		rule Rule
		want Fidelity
	}{
		{demo, Rule{Tool: Bash, Action: Deny}, Exact},
		{demo, Rule{Tool: FileRead, Action: Deny}, Unsupported},
		{demo, Rule{Tool: FileRead, Action: Allow}, Exact},
		{demo, Rule{Tool: "file.*", Action: Ask}, Degraded},
		{demo, Rule{Tool: Any, Action: Deny}, Degraded},
		{demo, Rule{Tool: Any, Match: map[string]string{"path": "x"}, Action: Deny}, Degraded},
		{demo, Rule{Tool: Any, Match: map[string]string{"command": "x"}, Action: Deny}, Exact},
		{demo, Rule{Tool: "mcp.a.b", Action: Deny}, Exact},
		{custom, Rule{Tool: Bash, Action: Deny}, Unverified},
		{custom, Rule{Tool: Bash, Action: Ask}, Unverified},
		{custom, Rule{Tool: Bash, Action: Allow}, Exact},
		{Mediation{Agent: "none"}, Rule{Tool: Any, Action: Deny}, Exact},
	} {
		if a := c.m.Assess(c.rule); a.Fidelity != c.want || (a.Reason == "") != (c.want == Exact) || a.Rendered == "" {
			t.Errorf("%s of %s: %+v, want %s", c.rule, c.m.Agent, a, c.want)
		}
	}
	rules := []Rule{{Tool: FileRead, Action: Deny}, {Tool: Bash, Action: Deny, Enforcement: Strict}, {Tool: Any, Action: Ask, Enforcement: Strict}}
	if i := demo.Broken(rules); i != 2 {
		t.Errorf("demo breaks %d", i)
	}
	if i := custom.Broken(rules); i != 1 {
		t.Errorf("custom breaks %d", i)
	}
	if i := demo.Broken(rules[:2]); i != -1 {
		t.Errorf("demo breaks %d", i)
	}
}
