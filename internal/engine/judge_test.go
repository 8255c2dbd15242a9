package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/policy"
	"paddock/internal/session"
)

// What an agent asks is held against the rules in the policy's words.
func TestJudge(t *testing.T) {
	spec, _, err := environment.Parse([]byte(`agent: demo
permissions:
  rules:
    - {tool: bash, action: allow}
    - {tool: bash, match: {command: 'rm *'}, action: deny}
    - {tool: file.read, action: allow}
    - {tool: file.write, match: {path: 'src/**'}, action: allow}
    - {tool: file.write, match: {path: '/etc/**'}, action: deny}
    - {tool: web.fetch, match: {host: 'example.com'}, action: allow}
    - {tool: mcp.docs.*, action: deny}
`), session.CheckName)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		action  event.Action
		details event.AskDetails
		want    policy.Action
	}{
		{event.ActionBash, event.AskDetails{Command: "ls; make"}, policy.Allow},
		{event.ActionBash, event.AskDetails{Command: "ls; timeout 5 rm x"}, policy.Deny},
		{event.ActionBash, event.AskDetails{Command: "ls", Guessed: true}, policy.Ask},
		{event.ActionBash, event.AskDetails{Command: "rm x", Guessed: true}, policy.Deny},
		{event.ActionBash, event.AskDetails{Tool: "mcp__x__y", Command: "rm x"}, policy.Deny},
		{event.ActionBash, event.AskDetails{Command: "echo x > passwd"}, policy.Ask},
		{event.ActionBash, event.AskDetails{Command: "echo x > passwd", Dir: "/etc"}, policy.Deny},
		{event.ActionBash, event.AskDetails{Command: "echo x > ../src/a", Dir: "/workspace/sub"}, policy.Allow},
		{event.ActionUnspecified, event.AskDetails{Kind: "read", Paths: []string{"/etc/passwd"}}, policy.Allow},
		{event.ActionUnspecified, event.AskDetails{Kind: "edit", Paths: []string{"/workspace/src/a"}}, policy.Allow},
		{event.ActionWriteOutside, event.AskDetails{Kind: "edit", Paths: []string{"/workspace/src/a", "/etc/passwd"}}, policy.Deny},
		{event.ActionUnspecified, event.AskDetails{Kind: "edit"}, policy.Ask},
		{event.ActionWriteOutside, event.AskDetails{Path: "/etc/passwd"}, policy.Deny}, // of an older guest
		{event.ActionUnspecified, event.AskDetails{Kind: "fetch", URL: "https://example.com/x"}, policy.Allow},
		{event.ActionUnspecified, event.AskDetails{Kind: "fetch", URL: "https://example.org/x"}, policy.Ask},
		{event.ActionUnspecified, event.AskDetails{Kind: "other", Tool: "mcp__docs__search"}, policy.Deny},
		{event.ActionUnspecified, event.AskDetails{Kind: "other", Tool: "mcp__docs__x; y"}, policy.Ask},
		{event.ActionUnspecified, event.AskDetails{Kind: "other", Tool: "Task"}, policy.Ask},
	} {
		if v := judge(spec, guestapi.Ask{Action: c.action, Details: c.details}); v.Action != c.want {
			t.Errorf("%+v: %s because of %s, want %s", c.details, v.Action, v.why, c.want)
		}
	}
}

// A rule's denial reaches the agent with the reason, once, and the history with
// the rule; what is asked says by which rule.
func TestRulesDecide(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(demoSpec + "permissions: {default: allow, rules: [{tool: bash, match: {command: 'rm *'}, action: deny}]}\n")
	ask := func(key, command string) {
		m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: key, Action: event.ActionBash, Details: event.AskDetails{Tool: "shell", Command: command}})
	}
	ask("k1", "ls && sudo rm -rf /")
	if a := <-m.guest.answers; a.Decision != guestapi.Deny || a.Reason != "denied by policy: permissions.rules[0]: deny bash {command: rm *}" {
		t.Errorf("guest was told %+v", a)
	}
	ask("k2", "ls")
	if a := <-m.guest.answers; a.Decision != guestapi.Allow {
		t.Errorf("guest was told %+v", a)
	}
	ask("k3", "$X")
	h.waitRun(v, run, session.RunAwaiting)
	var denied []event.Denied
	var asked event.Asked
	for _, e := range h.history(v) {
		switch e.Kind {
		case event.PolicyDenied:
			var d event.Denied
			if err := json.Unmarshal(e.Data, &d); err != nil {
				t.Fatal(err)
			}
			denied = append(denied, d)
		case event.HumanInputRequested:
			if err := json.Unmarshal(e.Data, &asked); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := event.Denied{Rule: "permissions.rules[0]: deny bash {command: rm *}", Tool: "shell", Detail: "ls && sudo rm -rf /"}
	if len(denied) != 1 || denied[0] != want {
		t.Errorf("denied: %+v", denied)
	}
	if b := asked.Details.Because; !strings.Contains(b, "permissions.rules[0]") || !strings.Contains(b, "known only when it runs") {
		t.Errorf("asked because of %q", b)
	}
	select {
	case a := <-m.guest.answers:
		t.Errorf("the guest was told once more: %+v", a)
	default:
	}
}
