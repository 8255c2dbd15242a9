package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"paddock/client"
)

// spec is what the flags of create say, in the form of a spec; the server
// judges the values.
type spec struct {
	Name        string            `yaml:"name,omitempty"`
	Agent       string            `yaml:"agent"`
	Command     []string          `yaml:"command,omitempty"`
	Size        string            `yaml:"size,omitempty"`
	IdleTimeout string            `yaml:"idle_timeout,omitempty"`
	KeepWarm    bool              `yaml:"keep_warm,omitempty"`
	Env         map[string]string `yaml:"env,omitempty"`
	Template    string            `yaml:"template,omitempty"`
	Image       string            `yaml:"image,omitempty"`
	Permissions *permissions      `yaml:"permissions,omitempty"`
	MaxRunTime  string            `yaml:"max_run_time,omitempty"`
	Repos       []string          `yaml:"repos,omitempty"`
}

type permissions struct {
	Default string `yaml:"default"`
}

// specFlags are the flags of create that make a spec.
type specFlags struct {
	file                    string
	spec                    spec
	secrets                 secretFlags
	keys                    bool // of models may be taken from the caller's environment
	env                     []string
	permissions             string
	idleTimeout, maxRunTime time.Duration
}

// perPart lists the flags that a spec file replaces; the name goes before the file's.
var perPart = []string{"name", "agent", "command", "size", "idle-timeout", "keep-warm", "env", "template", "image", "permissions", "max-run-time", "repo"}

// ofSpec lists all flags that say what a new session is.
var ofSpec = append([]string{"file", "secret", "secret-host"}, perPart...)

func (s *specFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&s.file, "file", "f", "", "spec `file` in YAML, - for standard input; instead of other flags but --name and --secret")
	f.StringVar(&s.spec.Name, "name", "", "the session's name (default: that of the file, or one is made)")
	f.StringVar(&s.spec.Agent, "agent", "demo", "claude-code, codex or another that 'paddock agent list' knows; demo, custom or none")
	f.StringArrayVar(&s.spec.Command, "command", nil, "program of agent custom; repeat it for each `argument`")
	f.StringVar(&s.spec.Size, "size", "", "size of the machine: small, medium or large (default small)")
	f.DurationVar(&s.idleTimeout, "idle-timeout", 0, "pause after so long without activity, 1m to 24h (default 15m)")
	f.BoolVar(&s.spec.KeepWarm, "keep-warm", false, "never pause by itself")
	f.StringArrayVarP(&s.env, "env", "e", nil, "environment of the session, `KEY=VALUE`; may be repeated")
	f.StringVar(&s.spec.Template, "template", "", "root file system of the machine (default host), see 'paddock template'")
	f.StringVar(&s.spec.Image, "image", "", "make the root file system of this `image`: a reference such as debian:13, or a path here")
	f.StringVar(&s.permissions, "permissions", "", "whatever the agent wants to do: allow, ask or deny (default ask)")
	f.DurationVar(&s.maxRunTime, "max-run-time", 0, "fail a run that takes longer (default 2h)")
	f.StringArrayVar(&s.spec.Repos, "repo", nil, "clone `OWNER/NAME`, or a URL, into the workspace; may be repeated")
	s.secrets.register(cmd)
	for _, name := range perPart {
		if name != "name" {
			cmd.MarkFlagsMutuallyExclusive("file", name)
		}
	}
}

// read gives the spec's text: the file's, or one made of the flags; and with the
// secrets that flags add to either.
func (s *specFlags) read(cmd *cobra.Command, a *app) ([]byte, error) {
	secrets, err := s.secrets.read(cmd, a)
	if err != nil {
		return nil, err
	}
	s.takeKeys(a, secrets)
	text, err := s.text(cmd, a)
	if err != nil {
		return nil, err
	}
	if s.file != "" && cmd.Flags().Changed("name") {
		if text, err = withName(text, s.spec.Name); err != nil {
			return nil, err
		}
	}
	return withSecrets(text, secrets)
}

// withName gives a spec another name. A spec that cannot be read is given as it
// is: the server says what is wrong with it.
func withName(text []byte, name string) ([]byte, error) {
	var document yaml.Node
	if yaml.Unmarshal(text, &document) != nil || len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return text, nil
	}
	root := document.Content[0]
	have := valueOf(root, "name")
	if have == nil && root.Style&yaml.FlowStyle == 0 { // its lines stay where they are
		own, err := yaml.Marshal(map[string]string{"name": name})
		if err != nil {
			return nil, fmt.Errorf("write name: %w", err)
		}
		return append(append(bytes.TrimRight(text, "\n"), '\n'), own...), nil
	}
	if have == nil {
		have = &yaml.Node{}
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "name"}, have)
	}
	have.SetString(name)
	return yaml.Marshal(&document)
}

func (s *specFlags) text(cmd *cobra.Command, a *app) ([]byte, error) {
	switch s.file {
	case "":
		return s.build(cmd)
	case "-":
		b, err := a.input(cmd.Context())
		if err != nil {
			return nil, fmt.Errorf("read spec from standard input: %w", err)
		}
		return b, nil
	default:
		b, err := os.ReadFile(s.file)
		if err != nil {
			return nil, fmt.Errorf("read spec: %w", err)
		}
		return b, nil
	}
}

func (s *specFlags) build(cmd *cobra.Command) ([]byte, error) {
	env, err := keyValues(cmd, "--env", s.env)
	if err != nil {
		return nil, err
	}
	s.spec.Env = env
	if s.permissions != "" {
		s.spec.Permissions = &permissions{s.permissions}
	}
	if cmd.Flags().Changed("idle-timeout") {
		s.spec.IdleTimeout = s.idleTimeout.String()
	}
	if cmd.Flags().Changed("max-run-time") {
		s.spec.MaxRunTime = s.maxRunTime.String()
	}
	b, err := yaml.Marshal(s.spec)
	if err != nil {
		return nil, fmt.Errorf("make spec of flags: %w", err)
	}
	return b, nil
}

// specLine is the place that a fault of a spec names.
var specLine = regexp.MustCompile(`(?m)^(?:line \d+: )?([a-z_]+)(?:\[\d+\])?(?:\.([^:\n]*))?: `)

// blame names flags where the server names lines of a spec that flags made:
// the person has not seen that text. Other errors stay as they are.
func (s *specFlags) blame(cmd *cobra.Command, err error) error {
	var said *client.Error
	if s.file != "" || !errors.As(err, &said) || said.Code != "bad_request" {
		return err
	}
	return usagef(cmd, "%s", listed(flagged(said.Message)))
}

// warn shows what the server warns of, likewise.
func (s *specFlags) warn(a *app, warnings []string) {
	for _, w := range warnings {
		if s.file == "" {
			w = flagged(w)
		}
		a.note("warning: %s", w)
	}
}

// flagged has the places of a spec in a message be those of its flags.
func flagged(message string) string {
	return specLine.ReplaceAllStringFunc(message, func(place string) string {
		part := specLine.FindStringSubmatch(place)
		flag := strings.ReplaceAll(part[1], "_", "-")
		if flag == "repos" { // each is a flag of its own
			flag = "repo"
		}
		switch {
		case flag == "secrets":
			return blameSecret(part[2])
		case !slices.Contains(perPart, flag):
			return place
		case flag == "env" && part[2] != "":
			return "--env " + part[2] + ": "
		default:
			return "--" + flag + ": "
		}
	})
}

// blameSecret is the flag that a part of a spec's secrets comes from.
func blameSecret(path string) string {
	name, key, _ := strings.Cut(path, ".")
	switch {
	case name == "":
		return "--secret: "
	case key == "host":
		return "--secret-host " + name + ": "
	default:
		return "--secret " + name + ": "
	}
}

// keyValues reads KEY=VALUE flags; nil when there are none.
func keyValues(cmd *cobra.Command, flag string, texts []string) (map[string]string, error) {
	var m map[string]string
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, usagef(cmd, "%s %q: want KEY=VALUE", flag, text)
		}
		if m == nil {
			m = map[string]string{}
		}
		m[key] = value
	}
	return m, nil
}
