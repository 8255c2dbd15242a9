package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestFlagsMakeASpec(t *testing.T) {
	pem := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(pem, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"none": {nil, "agent: demo\n"},
		"all": {
			[]string{"--agent", "custom", "--command", "my-agent", "--command", "--acp", "--name", "x", "--size", "small", "--keep-warm",
				"-e", "B=two=2", "-e", "A=", "--idle-timeout", "90m", "--permissions", "ask", "--max-run-time", "10m", "--template", "host"},
			"name: x\nagent: custom\ncommand:\n    - my-agent\n    - --acp\nsize: small\nidle_timeout: 1h30m0s\nkeep_warm: true\n" +
				"env:\n    A: \"\"\n    B: two=2\ntemplate: host\npermissions:\n    default: ask\nmax_run_time: 10m0s\n",
		},
		// The server says that they are out of range; they are not the default.
		"no time at all": {[]string{"--idle-timeout", "0s", "--max-run-time", "0s"}, "agent: demo\nidle_timeout: 0s\nmax_run_time: 0s\n"},
		"secrets": {
			[]string{"--secret", "TOKEN", "--secret", "KEY=a@b=c", "--secret-host", "KEY=api.example.com", "--secret", "PEM=@" + pem},
			"agent: demo\nsecrets:\n    KEY:\n        value: a@b=c\n        host: api.example.com\n    PEM:\n        value: |-\n            one\n            two\n    TOKEN:\n        value: from here\n",
		},
		"texts that YAML could misread": {[]string{"--name", "012", "-e", "ON=yes"}, "name: \"012\"\nagent: demo\nenv:\n    \"ON\": \"yes\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var s specFlags
			cmd := &cobra.Command{Use: "create"}
			s.register(cmd)
			if err := cmd.ParseFlags(c.args); err != nil {
				t.Fatal(err)
			}
			got, err := s.read(cmd, &app{getenv: func(name string) string { return map[string]string{"TOKEN": "from here"}[name] }})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Secrets of flags are added to a spec of any form.
func TestSecretsAreAddedToAFile(t *testing.T) {
	for text, want := range map[string]string{
		"agent: demo # why\n\n":                           "agent: demo # why\nsecrets:\n    A:\n        value: \"12\"\n",
		"agent: demo":                                     "agent: demo\nsecrets:\n    A:\n        value: \"12\"\n",
		"secrets:\n  B: xyz # why\nagent: demo\n":         "secrets:\n    B: xyz # why\n    A:\n        value: \"12\"\nagent: demo\n",
		"agent: demo\nsecrets: [{name: B, value: xyz}]\n": "agent: demo\nsecrets: [{name: B, value: xyz}, {name: A, value: \"12\"}]\n",
		`{"agent": "demo"}`:                               "{\"agent\": \"demo\", secrets: {A: {value: \"12\"}}}\n",
		"- agent: demo\n":                                 "- agent: demo\n", "agent: [": "agent: [", "": "", "agent: demo\nsecrets: no\n": "agent: demo\nsecrets: no\n",
	} {
		got, err := withSecrets([]byte(text), map[string]secret{"A": {Value: "12"}})
		if err != nil || string(got) != want {
			t.Errorf("%q\nbecomes %q, %v\nwant    %q", text, got, err, want)
		}
	}
}

// Keys that lie in the environment go along, unless flags say which.
func TestKeysOfModels(t *testing.T) {
	here := map[string]string{"OPENAI_API_KEY": "sk-here", "OPENAI_BASE_URL": "https://far.test/v1", "ANTHROPIC_API_KEY": "sk-other"}
	for name, c := range map[string]struct {
		args       []string
		want, said string
	}{
		"of the agent": {[]string{"--agent", "codex-cli"}, "agent: codex-cli\nenv:\n    OPENAI_BASE_URL: https://far.test/v1\nsecrets:\n    OPENAI_API_KEY:\n        value: sk-here\n",
			"OPENAI_API_KEY of your environment goes along as a secret, and OPENAI_BASE_URL"},
		"a flag says it":  {[]string{"--agent", "codex", "-e", "OPENAI_API_KEY=x"}, "agent: codex\nenv:\n    OPENAI_API_KEY: x\n", ""},
		"another server":  {[]string{"--agent", "codex", "-e", "OPENAI_BASE_URL=http://x"}, "agent: codex\nenv:\n    OPENAI_BASE_URL: http://x\nsecrets:\n    OPENAI_API_KEY:\n        value: sk-here\n", "OPENAI_API_KEY of your environment goes along as a secret;"},
		"no known agent":  {[]string{"--agent", "demo"}, "agent: demo\n", ""},
		"none of its own": {[]string{"--agent", "kimi"}, "agent: kimi\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, said := specFlags{keys: true}, strings.Builder{}
			cmd := &cobra.Command{Use: "create"}
			s.register(cmd)
			if err := cmd.ParseFlags(c.args); err != nil {
				t.Fatal(err)
			}
			got, err := s.read(cmd, &app{err: &said, getenv: func(name string) string { return here[name] }})
			if err != nil || string(got) != c.want || !strings.HasPrefix(said.String(), c.said) || (said.Len() == 0) != (c.said == "") {
				t.Errorf("%v\n%s\n%s", err, got, said.String())
			}
		})
	}
}

// A name from a flag goes before that of a file of any form.
func TestNameIsPutIntoAFile(t *testing.T) {
	for text, want := range map[string]string{
		"agent: demo # why\n\n":  "agent: demo # why\nname: \"012\"\n",
		"name: x\nagent: demo\n": "name: \"012\"\nagent: demo\n",
		`{"agent": "demo"}`:      "{\"agent\": \"demo\", name: \"012\"}\n",
		"- agent: demo\n":        "- agent: demo\n", "agent: [": "agent: [", "": "",
	} {
		got, err := withName([]byte(text), "012")
		if err != nil || string(got) != want {
			t.Errorf("%q\nbecomes %q, %v\nwant    %q", text, got, err, want)
		}
	}
}

func TestPlacesOfASpecAreThoseOfItsFlags(t *testing.T) {
	for message, want := range map[string]string{
		"line 6: secrets.TOKEN: is there inside":        "--secret TOKEN: is there inside",
		"line 4: repos: http://h/x is cloned":           "--repo: http://h/x is cloned",
		"egress: agent codex needs api.openai.com, too": "egress: agent codex needs api.openai.com, too",
		"line 2: env.A: one\nline 3: idle_timeout: two": "--env A: one\n--idle-timeout: two",
	} {
		if got := flagged(message); got != want {
			t.Errorf("%q becomes %q, want %q", message, got, want)
		}
	}
}
