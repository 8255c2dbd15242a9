package environment

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func spec(change func(*Spec)) Spec {
	s := defaults()
	s.Agent = "demo"
	change(&s)
	return s
}

// anyName stands for the grammar of names, which is that of sessions, a package
// beside this one.
func anyName(name string) error {
	if strings.HasPrefix(name, "bad") {
		return errors.New("will not do")
	}
	return nil
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       Spec
		warnings   []string
	}{
		{name: "shortest", text: "agent: demo", want: spec(func(*Spec) {})},
		{name: "everything", text: `
name: my-session          # of the session
agent: custom
command: [my-agent, --acp, 10, true]
size: large
idle_timeout: 1h30m
keep_warm: false
env:
  PORT: 8080
  MODE: 0755
  ON: yes
  YES: True
  EMPTY: ""
  LD_PRELOAD: /lib/x.so
  DATE: 2026-01-02
  BIG: 1_000
  LINES: |
    one
    two
template: host
permissions:
  default: deny
max_run_time: 90s
approvals: {timeout: 36h, on_timeout: approve}
`, want: Spec{
			Name: "my-session", Agent: "custom", Command: []string{"my-agent", "--acp", "10", "true"}, Size: "large",
			IdleTimeout: 90 * time.Minute, Env: map[string]string{
				"PORT": "8080", "MODE": "0755", "ON": "yes", "YES": "True", "EMPTY": "", "LD_PRELOAD": "/lib/x.so",
				"DATE": "2026-01-02", "BIG": "1_000", "LINES": "one\ntwo\n",
			},
			Template: "host", Permissions: Permissions{Default: "deny"}, MaxRunTime: 90 * time.Second,
			Approvals: Approvals{Timeout: 36 * time.Hour, OnTimeout: "approve"},
		}},
		{name: "image", text: "agent: demo\nimage: registry.example.com:5000/team/tools@sha256:abc",
			want: spec(func(s *Spec) { s.Image, s.Template = "registry.example.com:5000/team/tools@sha256:abc", "" })},
		{name: "template", text: "agent: demo\ntemplate: tools", want: spec(func(s *Spec) { s.Template = "tools" })},
		{name: "JSON", text: "{\n\t\"agent\": \"demo\",\n\t\"env\": {\"A\": \"\\ud83d\\ude00\\/\\\\ud83d\\u00e9\\n\", \"B\": 1.50}\n}",
			want: spec(func(s *Spec) { s.Env = map[string]string{"A": "😀/\\ud83dé\n", "B": "1.50"} })},
		{name: "byte order mark and CRLF", text: "\ufeffagent: none\r\nkeep_warm: true\r\n",
			want: spec(func(s *Spec) { s.Agent, s.KeepWarm = "none", true })},
		{name: "numeric name", text: "agent: demo\nname: 007", want: spec(func(s *Spec) { s.Name = "007" })},
		{name: "empty env", text: "agent: demo\nenv: {}", want: spec(func(*Spec) {})},
		{name: "bounds", text: "agent: demo\nidle_timeout: 1m\nmax_run_time: 24h",
			want: spec(func(s *Spec) { s.IdleTimeout, s.MaxRunTime = time.Minute, 24*time.Hour })},
		{name: "idle timeout of a warm session", text: "agent: demo\nkeep_warm: true\nidle_timeout: 5m",
			want:     spec(func(s *Spec) { s.KeepWarm, s.IdleTimeout = true, 5*time.Minute }),
			warnings: []string{"line 3: idle_timeout: has no effect with keep_warm: the session is never paused for being idle"}},
		{name: "settings of an agent that is none", text: "agent: none\npermissions: {default: allow}\nmax_run_time: 1h",
			want: spec(func(s *Spec) { s.Agent, s.Permissions.Default, s.MaxRunTime = "none", "allow", time.Hour }),
			warnings: []string{
				"line 2: permissions.default: has no effect with agent: none, which runs nothing",
				"line 3: max_run_time: has no effect with agent: none, which runs nothing",
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, warnings, err := Parse([]byte(tc.text), anyName)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			var lines []string
			for _, w := range warnings {
				lines = append(lines, w.String())
			}
			if diff := cmp.Diff(tc.warnings, lines); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			checkMarshal(t, got)
		})
	}
}

// checkMarshal checks that a spec written out and read again is the same.
func checkMarshal(t *testing.T, s Spec) {
	t.Helper()
	text, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := Parse(text, anyName)
	if err != nil {
		t.Fatalf("read what was written: %v\n%s", err, text)
	}
	if diff := cmp.Diff(s, again, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("written and read again (-want +got):\n%s\n%s", diff, text)
	}
}

func TestFaults(t *testing.T) {
	const wantsDuration = "wants a duration such as 15m or 1h30m"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"the spec is empty; the shortest one is agent: demo"}},
		{"only a comment", "# agent: demo\n", []string{"the spec is empty; the shortest one is agent: demo"}},
		{"null", "---\n", []string{"the spec is empty; the shortest one is agent: demo"}},
		{"text", "demo", []string{"line 1: wants keys and values such as agent: demo"}},
		{"list", "- agent: demo", []string{"line 1: wants keys and values such as agent: demo"}},
		{"no key", "{}", []string{"agent: is missing; write one such as agent: claude-code, or demo, none or custom"}},
		{"no agent", "size: small", []string{"agent: is missing; write one such as agent: claude-code, or demo, none or custom"}},
		{"no YAML", "agent: [demo\nsize: small", []string{
			"line 2: this is not YAML: did not find expected ',' or ']', while parsing a flow sequence that begins on line 1"}},
		{"two documents", "agent: demo\n---\nagent: none", []string{"line 2: a second document begins here; a spec is one document"}},
		{"not UTF-8", "agent: demo\nname: \xff", []string{"line 2: byte 0xff is not UTF-8"}},
		{"UTF-16", "a\x00g\x00", []string{"line 1: the control character U+0000 is not allowed"}},
		{"too long", strings.Repeat("#", MaxText+1), []string{"the spec has 1048577 bytes, at most 1048576 are allowed"}},
		{"all at once", "agnet: demo\nsize: huge\nkeep_warm: maybe\nidle-timeout: 5m\nenv: [A]\ncolour: red", []string{
			"agent: is missing; write one such as agent: claude-code, or demo, none or custom",
			"line 1: agnet: unknown key; did you mean agent?",
			`line 2: size: "huge" is none of small, medium, large`,
			"line 3: keep_warm: wants true or false",
			"line 4: idle-timeout: unknown key; did you mean idle_timeout?",
			"line 5: env: wants keys and values such as PORT: 8080",
			"line 6: colour: unknown key",
		}},
		{"mistyped words", "agent: Demo\nsize: smal\npermissions: {default: alow, defualt: ask}", []string{
			`line 1: agent: "Demo" is none of demo, none, custom, claude-code, codex, opencode, copilot, gemini, qwen, goose, kimi, cursor; did you mean demo?`,
			`line 2: size: "smal" is none of small, medium, large; did you mean small?`,
			`line 3: permissions.default: "alow" is none of allow, ask, deny; did you mean allow?`,
			"line 3: permissions.defualt: unknown key; did you mean default?",
		}},
		{"two roots", "agent: demo\nimage: debian:13\ntemplate: host", []string{
			"line 3: template: stands beside image; a machine has one root file system, so name one of the two"}},
		{"an image that is a path", "agent: demo\nimage: /etc", []string{
			"line 2: image: /etc is a path, and the server reads no images from its own disk; send it with paddock template add /etc --name NAME and write template: NAME"}},
		{"an image that is a path, too", "agent: demo\nimage: ../x", []string{
			"line 2: image: ../x is a path, and the server reads no images from its own disk; send it with paddock template add ../x --name NAME and write template: NAME"}},
		{"no image", "agent: demo\nimage: \"\"", []string{"line 2: image: is empty; name an image such as debian:13"}},
		{"later keys", "agent: demo\nbudget:\n  A: x\nwebhooks: []\npermissions:\n  egress: {}\n  enforcement: strict", []string{
			"line 2: budget: is not supported yet",
			"line 4: webhooks: is not supported yet",
			"line 6: permissions.egress: is not supported yet; default, rules and filesystem are",
			"line 7: permissions.enforcement: belongs to a rule, as in rules: [{tool: bash, action: deny, enforcement: strict}]",
		}},
		{"older form", "apiVersion: agents.example/v1\nkind: Agent", []string{
			"agent: is missing; write one such as agent: claude-code, or demo, none or custom",
			"line 1: apiVersion: the form with apiVersion, kind, metadata and spec is not supported yet; write the keys at the top, such as agent: demo",
			"line 2: kind: the form with apiVersion, kind, metadata and spec is not supported yet; write the keys at the top, such as agent: demo",
		}},
		{"twice", "agent: demo\nsize: small\n\"agent\": none\nenv:\n  A: 1\n  A: 2", []string{
			"line 3: agent: is already set on line 1",
			"line 6: env.A: is already set on line 5",
		}},
		{"references", "agent: &a demo\nname: *a\nenv: &e\n  A: x\npermissions:\n  <<: *e\n  default: ask", []string{
			"line 1: agent: anchors (&a) are not supported; write the value out where it is needed",
			"line 2: name: aliases (*a) are not supported; write the value out",
			"line 3: env: anchors (&e) are not supported; write the value out where it is needed",
			"line 6: permissions.<<: merging is not supported; write the keys out",
			"line 6: permissions.<<: aliases (*e) are not supported; write the value out",
		}},
		{"tags", "agent: !secret demo\nname: !!binary aGk=", []string{
			"line 1: agent: tags (!secret) are not supported",
			"line 2: name: tags (!!binary) are not supported",
		}},
		{"keys that are no words", "agent: demo\n? [a, b]\n: 1", []string{"line 2: a key must be a plain word"}},
		{"values of the wrong kind", "agent: [demo]\nname: {a: b}\nsize:\nkeep_warm: yes\ncommand: my-agent\npermissions: allow\nenv: {A: [1], B: ~, C: }", []string{
			"line 1: agent: wants one of demo, none, custom, claude-code, codex, opencode, copilot, gemini, qwen, goose, kimi, cursor",
			"line 2: name: wants a text such as my-session",
			"line 3: size: wants one of small, medium, large",
			"line 4: keep_warm: wants true or false",
			"line 5: command: wants a list such as [my-agent, --acp]",
			"line 6: permissions: wants keys and values such as default: ask",
			"line 7: env.A: wants a text; for an empty one write \"\"",
			"line 7: env.B: wants a text; for an empty one write \"\"",
			"line 7: env.C: wants a text; for an empty one write \"\"",
		}},
		{"durations", "agent: demo\nidle_timeout: 5\nmax_run_time: soon", []string{
			"line 2: idle_timeout: " + wantsDuration + "; 5 alone has no unit",
			"line 3: max_run_time: " + wantsDuration + `, not "soon"`,
		}},
		{"durations out of range", "agent: demo\nidle_timeout: 59s\nmax_run_time: 25h", []string{
			"line 2: idle_timeout: 59s is out of range; it may be 1m to 24h",
			"line 3: max_run_time: 25h is out of range; it may be 1s to 24h",
		}},
		{"more durations", "agent: demo\nidle_timeout: -5m\nmax_run_time:", []string{
			"line 2: idle_timeout: -5m is out of range; it may be 1m to 24h",
			"line 3: max_run_time: " + wantsDuration,
		}},
		{"no command", "size: small\nagent: custom", []string{
			"line 2: command: is missing; agent: custom wants the program to run, such as command: [my-agent, --acp]"}},
		{"empty command", "agent: custom\ncommand: []", []string{
			"line 2: command: names no program; write a list such as [my-agent, --acp]"}},
		{"command of nothing", "agent: custom\ncommand: [\"\", x]", []string{
			"line 2: command: names no program; write a list such as [my-agent, --acp]"}},
		{"command of lists", "agent: custom\ncommand: [a, [b], ~]", []string{
			"line 2: command[1]: wants a text",
			"line 2: command[2]: wants a text",
		}},
		{"command of another agent", "agent: demo\ncommand: [x]", []string{
			"line 2: command: only agent: custom takes a command; agent is demo"}},
		{"empty name", "agent: demo\nname: ''", []string{"line 2: name: is empty; leave it out to get a generated one"}},
		{"bad name", "agent: demo\nname: bad one", []string{"line 2: name: will not do"}},
		{"variables", "agent: demo\nenv:\n  1A: x\n  A-B: x\n  PADDOCK_URL: x\n  NUL: \"\\0\"\n  Ä: x\n  \"\": x", []string{
			"line 3: env.1A: a variable's name has letters, digits and _ and does not begin with a digit",
			"line 4: env.A-B: a variable's name has letters, digits and _ and does not begin with a digit",
			"line 5: env.PADDOCK_URL: names that begin with PADDOCK_ are reserved",
			"line 6: env.NUL: must not contain a NUL character",
			"line 7: env.Ä: a variable's name has letters, digits and _ and does not begin with a digit",
			"line 8: env.: a variable's name has letters, digits and _ and does not begin with a digit",
		}},
		{"long variable", "agent: demo\nenv:\n  A: " + strings.Repeat("x", 131070), []string{
			"line 3: env.A: has 131070 bytes, more than the 131069 that a variable can have"}},
		{"key with dots", "agent: demo\npermissions.default: allow", []string{"line 2: permissions.default: unknown key; did you mean permissions?"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := Parse([]byte(tc.text), anyName)
			var faults *Faults
			if !errors.As(err, &faults) {
				t.Fatalf("error is %v", err)
			}
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), err.Error()); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaultsAreLimited(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	_, _, err := Parse([]byte(b.String()), anyName)
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != maxFaults+1 || lines[maxFaults] != "and 59951 more" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

// TestBombs feeds texts that are small and would grow, or nest without end.
func TestBombs(t *testing.T) {
	aliases := "a: &a [x]\n"
	for c := 'b'; c < 'z'; c++ {
		aliases += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1)
	}
	for name, text := range map[string]string{
		"aliases": aliases, "self": "a: &a [*a]", "merge": "a: &a {b: &b {<<: *a}}",
		"lists": strings.Repeat("[", MaxText), "maps": strings.Repeat("{a: ", MaxText/4), "dashes": strings.Repeat("- ", MaxText/2),
		"questions": strings.Repeat("? ", MaxText/2), "lines": strings.Repeat("\n", MaxText), "one key": strings.Repeat("k", MaxText-2) + ": ",
		"twins": strings.Repeat("a: 1\n", MaxText/5),
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			if _, _, err := Parse([]byte(text), anyName); err == nil {
				t.Error("accepted")
			} else if len(err.Error()) > 64<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestLaterKeysAreNotServed keeps the two lists apart: a key that is served is
// taken off the other.
func TestLaterKeysAreNotServed(t *testing.T) {
	for key := range later {
		if _, served := specFields[key]; served {
			t.Errorf("%s is served", key)
		}
		if inner, ok := strings.CutPrefix(key, "permissions."); ok && permissionFields[inner] != nil {
			t.Errorf("%s is served", key)
		}
	}
}

// An agent is known by its name and by what other tools call it.
func TestKnownAgents(t *testing.T) {
	for word, want := range map[string]string{"claude-code": "claude-code", "claude": "claude-code", "Codex-CLI": "codex", "openai-codex": "codex", "cursor-cli": "cursor"} {
		spec, _, err := Parse([]byte("agent: "+word), anyName)
		if err != nil || spec.Agent != want {
			t.Errorf("%s: %q %v", word, spec.Agent, err)
		}
	}
	for name, unproven := range map[string]bool{"claude-code": false, "codex": false, "opencode": true, "gemini": true, "custom": true} {
		if m := (Spec{Agent: name}).Mediation(); m.Unproven != unproven || len(m.Unasked) != 0 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestSizes(t *testing.T) {
	if _, ok := FindSize(DefaultSize); !ok {
		t.Errorf("the default size %s is none", DefaultSize)
	}
	if _, ok := FindSize("tiny"); ok {
		t.Error("found a size that is none")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("agent: demo\nname: x\nenv: {A: 012, B: \"\\u00e9\"}\npermissions: {default: deny}"))
	f.Add([]byte("agent: demo\npermissions: {rules: [{tool: bash, match: {command: 'rm *'}, action: deny}], network: {a: [012, ~, {b: |\n x\n}]}}"))
	f.Add([]byte("agent: demo\npermissions:\n  network:\n    # why\n    a: 'x' # y\n    b:\n    - \"z\"\n"))
	f.Add([]byte("agent: custom\ncommand: [a, 'b', \"c\", |\n d\n]\nidle_timeout: 1h0m5.5s\nkeep_warm: true"))
	f.Add([]byte(`{"agent":"none","env":{"A":"\ud83d\ude00"},"size":"large"}`))
	f.Add([]byte("a: &a [*a]\n<<: *a\n? [b]\n: !x c\n---\n"))
	f.Add([]byte("agent: demo\nenv:\n  A: >-\n    x\n\n    y\n  B: |+\n    z\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _, err := Parse(text, anyName)
		if err != nil {
			var faults *Faults
			if !errors.As(err, &faults) || len(faults.List) == 0 || err.Error() == "" {
				t.Fatalf("error is %#v", err)
			}
			return
		}
		checkMarshal(t, got)
	})
}
