package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// A session whose policy allows all but rm: what its agent wants to run passes
// by itself, is denied with the reason, or waits for a person where it cannot be
// told what it does.
func TestPolicyDecides(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	sess := s.create(`agent: demo
name: ruled
permissions:
  default: allow
  rules:
    - {tool: bash, match: {command: 'rm *'}, action: deny}
    - {tool: file.write, match: {path: 'kept/**'}, action: deny}
`)
	s.sh("ruled", "mkdir kept; echo x >kept/a; ln -s kept link")
	for input, want := range map[string]string{
		"run cat kept/a": "exit code 0\nx",
		"run cat kept/a && sudo env A=b sh -c 'rm -rf kept'": "permission denied: I did not run cat kept/a && sudo env A=b sh -c 'rm -rf kept' (denied by policy: permissions.rules[0]: deny bash {command: rm *})",
		"write link/a y": "permission denied: I did not write /workspace/link/a (denied by policy: permissions.rules[1]: deny file.write {path: kept/**})",
		"run ls >kept/a": "(denied by policy: permissions.rules[1]",
		"write free z":   "wrote /workspace/free",
	} {
		if out, errs, code := s.cli("prompt", "ruled", input); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d\n%s\n%s", input, code, out, errs)
		}
	}
	if out := s.sh("ruled", "cat kept/a"); out != "x\n" {
		t.Errorf("kept/a is %q", out)
	}
	rules := map[string]int{}
	for _, e := range s.history(sess.SessionID) {
		if e.Kind == "policy.denied" {
			var d struct{ Rule, Tool, Detail string }
			if err := json.Unmarshal(e.Payload, &d); err != nil || d.Tool == "" || d.Detail == "" || e.RunID == "" {
				t.Errorf("%s: %v", e.Payload, err)
			}
			rules[d.Rule]++
		}
	}
	if rules["permissions.rules[0]: deny bash {command: rm *}"] != 1 || rules["permissions.rules[1]: deny file.write {path: kept/**}"] != 2 || len(rules) != 2 {
		t.Errorf("denied: %v", rules)
	}

	run := s.send("ruled", "run $(echo rm) -rf kept")
	asked := s.waitEvent(sess.SessionID, func(e godo.HostedAgentEvent) bool { return e.RunID == run && e.Kind == "run.human_input_requested" })
	if !strings.Contains(string(asked.Payload), "known only when it runs") {
		t.Errorf("nothing says why: %s", asked.Payload)
	}
	s.cli("cancel", "ruled")
	if out := s.sh("ruled", "cat kept/a"); out != "x\n" { // no policy holds a person
		t.Errorf("kept/a is %q", out)
	}
	s.sh("ruled", "rm -r kept")
}

// A mistake in a policy is named with its rule; nothing is made.
func TestPolicyFaults(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	_, _, err := s.client().HostedAgents.CreateSessionFromManifest(t.Context(), []byte(`agent: demo
permissions:
  rules:
  - {tool: bsh, action: deny}
  - {tool: bash, match: {comand: x}, action: dny}
`), nil)
	for _, part := range []string{"line 4: permissions.rules[0].tool", "did you mean bash?", "line 5: permissions.rules[1].match.comand", "did you mean command?", "did you mean deny?"} {
		wantRefusal(t, err, 400, part)
	}
}

// What an agent cannot keep is said before anything is made, and a strict rule
// of the kind refuses the create.
func TestPolicyFidelity(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const strict = "permissions: {rules: [{tool: bash, match: {command: 'rm *'}, action: deny, enforcement: strict}, {tool: file.read, action: ask}]}\n"
	for agent, want := range map[string]struct {
		ok       bool
		standard godo.HostedAgentPolicyVerdict
		verdicts string
	}{
		"demo":                     {true, "degraded", "exact unsupported"},
		"custom\ncommand: [sleep]": {false, "unverified", "unverified unverified"},
		"none":                     {true, "exact", "exact exact"},
	} {
		v, _, err := s.client().HostedAgents.ValidatePolicy(t.Context(), []byte("agent: "+agent+"\n"+strict))
		if err != nil {
			t.Fatal(err)
		}
		var verdicts []string
		for _, one := range v.Verdicts {
			verdicts = append(verdicts, string(one.Verdict))
		}
		if v.OK != want.ok || v.DefaultAction != "ask" || v.DefaultActionVerdict != want.standard || strings.Join(verdicts, " ") != want.verdicts {
			t.Errorf("%s: %+v", agent, v)
		}
	}
	_, _, err := s.client().HostedAgents.CreateSessionFromManifest(t.Context(), []byte("agent: custom\ncommand: [sleep, '9']\n"+strict), nil)
	wantRefusal(t, err, 400, "permissions.rules[0] (deny bash {command: rm *}) is strict, and agent custom cannot keep it")
	if n := len(s.list()); n != 0 {
		t.Errorf("%d sessions", n)
	}
	if sess := s.createNoWait("agent: demo\n" + strict); !strings.Contains(strings.Join(sess.Warnings, "; "), "permissions.rules[1] (ask file.read) is unsupported") {
		t.Errorf("warnings %q", sess.Warnings)
	}
}

// A rule holds for what bash evaluates, for what a variable has a program start
// and for what is fed to a shell by descriptor; the plain forms of the same pass.
func TestPolicyReadsWhatShellsEvaluate(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	sess := s.create(`agent: demo
name: evaluated
permissions:
  default: allow
  rules: [{tool: bash, match: {command: 'rm *'}, action: deny}]
`)
	s.sh("evaluated", "echo x >kept")
	for input, want := range map[string]string{
		"run bash -c \"test -v 'a[$(rm kept)]'\"":                        "denied by policy: permissions.rules[0]",
		"run x='a[$(rm kept)]' bash -c '((x))'":                          "denied by policy: permissions.rules[0]",
		"run PAGER='rm kept' git log":                                    "denied by policy: permissions.rules[0]",
		"run choom -n 0 -- rm kept":                                      "denied by policy: permissions.rules[0]",
		"run bash -c \". /dev/stdin <<< 'rm kept'\"":                     "denied by policy: permissions.rules[0]",
		"run bash -c 'i=1; for n in 1 2; do ((i += n)); done; echo =$i'": "exit code 0\n=4",
	} {
		if out, errs, code := s.cli("prompt", "evaluated", input); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d\n%s\n%s", input, code, out, errs)
		}
	}
	for _, command := range []string{"PATH=. ls kept", "cat kept | bash /dev/stdin"} {
		run := s.send("evaluated", "run "+command)
		s.waitEvent(sess.SessionID, func(e godo.HostedAgentEvent) bool { return e.RunID == run && e.Kind == "run.human_input_requested" })
		s.cli("cancel", "evaluated")
	}
	if out := s.sh("evaluated", "cat kept"); out != "x\n" {
		t.Errorf("kept is %q", out)
	}
}
