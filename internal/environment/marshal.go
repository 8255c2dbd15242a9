package environment

import (
	"cmp"
	"fmt"

	"go.yaml.in/yaml/v4"

	"paddock/internal/policy"
)

// Marshal writes a spec as YAML with every default spelled out, and with the
// values of its secrets. Parse reads it back as it was.
func Marshal(s Spec) ([]byte, error) {
	permissions, err := marshalPermissions(s.Permissions)
	if err != nil {
		return nil, fmt.Errorf("write permissions: %w", err)
	}
	text, err := yaml.Marshal(struct {
		Name        string            `yaml:"name,omitempty"`
		Agent       string            `yaml:"agent"`
		Command     []string          `yaml:"command,omitempty"`
		Size        string            `yaml:"size"`
		IdleTimeout string            `yaml:"idle_timeout"`
		KeepWarm    bool              `yaml:"keep_warm"`
		Env         map[string]string `yaml:"env,omitempty"`
		Secrets     []writtenSecret   `yaml:"secrets,omitempty"`
		Template    string            `yaml:"template,omitempty"`
		Image       string            `yaml:"image,omitempty"`
		Permissions any               `yaml:"permissions"`
		MaxRunTime  string            `yaml:"max_run_time"`
		Approvals   map[string]string `yaml:"approvals"`
		Egress      any               `yaml:"egress"`
		Tools       []Tool            `yaml:"tools,omitempty"`
		Skills      []Skill           `yaml:"skills,omitempty"`
		Network     any               `yaml:"network,omitempty"`
		Repos       []Repo            `yaml:"repos,omitempty"`
		RunAs       string            `yaml:"run_as"`
	}{
		s.Name, s.Agent, s.Command, s.Size, short(s.IdleTimeout), s.KeepWarm, s.Env, writtenSecrets(s.Secrets), s.Template, s.Image,
		permissions, short(s.MaxRunTime),
		map[string]string{"timeout": short(s.Approvals.Timeout), "on_timeout": s.Approvals.OnTimeout},
		egressValue(s.Egress), s.Tools, s.Skills, networkValue(s.Network), s.Repos, cmp.Or(s.RunAs, AsAgent),
	})
	if err != nil {
		return nil, fmt.Errorf("write spec: %w", err)
	}
	return text, nil
}

// writtenSecret is Secret as it is written.
type writtenSecret struct {
	Name   string `yaml:"name"`
	Value  string `yaml:"value"`
	Host   string `yaml:"host,omitempty"`
	Header string `yaml:"header,omitempty"`
}

func writtenSecrets(secrets []Secret) (list []writtenSecret) {
	for _, s := range secrets {
		list = append(list, writtenSecret{s.Name, s.Value.Reveal(), s.Host, s.Header})
	}
	return list
}

// filesystem is Filesystem as it is written.
type filesystem struct {
	Mode       string   `yaml:"mode"`
	AllowWrite []string `yaml:"allow_write,omitempty"`
}

func marshalPermissions(p Permissions) (any, error) {
	out := struct {
		Default string        `yaml:"default"`
		Rules   []policy.Rule `yaml:"rules,omitempty"`
		Network *yaml.Node    `yaml:"network,omitempty"`
		Files   filesystem    `yaml:"filesystem"`
	}{Default: p.Default, Rules: p.Rules, Files: filesystem{cmp.Or(p.Filesystem.Mode, Unrestricted), p.Filesystem.AllowWrite}}
	if p.Network != "" {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(p.Network), &document); err != nil {
			return nil, err
		}
		out.Network = document.Content[0]
	}
	return out, nil
}
