package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestFlagsMakeASpec(t *testing.T) {
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
		"no time at all":                {[]string{"--idle-timeout", "0s", "--max-run-time", "0s"}, "agent: demo\nidle_timeout: 0s\nmax_run_time: 0s\n"},
		"texts that YAML could misread": {[]string{"--name", "012", "-e", "ON=yes"}, "name: \"012\"\nagent: demo\nenv:\n    \"ON\": \"yes\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var s specFlags
			cmd := &cobra.Command{Use: "create"}
			s.register(cmd)
			if err := cmd.ParseFlags(c.args); err != nil {
				t.Fatal(err)
			}
			got, err := s.read(cmd, &app{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
