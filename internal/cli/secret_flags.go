package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
)

// secretFlags are the flags that add secrets to a spec, made of flags or from a
// file.
type secretFlags struct {
	values []string
	hosts  []string
}

// secret is a secret as a spec has it.
type secret struct {
	Value string `yaml:"value"`
	Host  string `yaml:"host,omitempty"`
}

func (s *secretFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.values, "secret", nil, "a variable that nobody is shown: `NAME` takes the value that it has here, NAME=@FILE the content of a file; may be repeated")
	f.StringArrayVar(&s.hosts, "secret-host", nil, "that secret goes to one host only, `NAME=HOST`, and the sandbox holds a placeholder; may be repeated")
}

// read gives the secrets by name. No message has a value in it.
func (s *secretFlags) read(cmd *cobra.Command, a *app) (map[string]secret, error) {
	secrets := map[string]secret{}
	for _, text := range s.values {
		name, from, given := strings.Cut(text, "=")
		if _, twice := secrets[name]; twice {
			return nil, usagef(cmd, "--secret %s is given twice", name)
		}
		value, err := secretValue(cmd, a, name, from, given)
		if err != nil {
			return nil, err
		}
		secrets[name] = secret{Value: value}
	}
	for _, text := range s.hosts {
		name, host, ok := strings.Cut(text, "=")
		one, known := secrets[name]
		switch {
		case !ok || host == "":
			return nil, usagef(cmd, "--secret-host %q: want NAME=HOST", text)
		case !known:
			return nil, usagef(cmd, "--secret-host %s: there is no --secret %s", name, name)
		case one.Host != "":
			return nil, usagef(cmd, "--secret-host %s is given twice; a secret is for one host", name)
		}
		one.Host = host
		secrets[name] = one
	}
	return secrets, nil
}

// secretValue takes a value from where a flag says.
func secretValue(cmd *cobra.Command, a *app, name, from string, given bool) (string, error) {
	file, isFile := strings.CutPrefix(from, "@")
	switch {
	case name == "":
		return "", usagef(cmd, "--secret has no name; want NAME, NAME=@FILE or NAME=VALUE")
	case !given:
		value := a.getenv(name)
		if value == "" {
			return "", usagef(cmd, "--secret %s takes the value of the variable %s, which is not set here; set it, or write --secret %s=@FILE", name, name, name)
		}
		return value, nil
	case isFile:
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--secret %s: %w", name, err)
		}
		return string(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))), nil
	default:
		return from, nil
	}
}

// withSecrets adds secrets to a spec's text. The lines that were there stay where
// they are, unless the text has secrets already or is JSON.
func withSecrets(text []byte, secrets map[string]secret) ([]byte, error) {
	if len(secrets) == 0 {
		return text, nil
	}
	own, err := yaml.Marshal(map[string]any{"secrets": secrets})
	if err != nil {
		return nil, fmt.Errorf("write secrets: %w", err)
	}
	var spec, more yaml.Node
	if yaml.Unmarshal(text, &spec) != nil || len(spec.Content) == 0 || spec.Content[0].Kind != yaml.MappingNode {
		return text, nil // the server says what is wrong with it
	}
	root := spec.Content[0]
	have := valueOf(root, "secrets")
	if have == nil && root.Style&yaml.FlowStyle == 0 {
		return append(append(bytes.TrimRight(text, "\n"), '\n'), own...), nil
	}
	if err := yaml.Unmarshal(own, &more); err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	added := more.Content[0]
	switch {
	case have == nil:
		root.Content = append(root.Content, added.Content...)
	case have.Kind == yaml.SequenceNode:
		for i, pair := 0, added.Content[1].Content; i+1 < len(pair); i += 2 {
			name := &yaml.Node{Kind: yaml.ScalarNode, Value: "name"}
			pair[i+1].Content = append([]*yaml.Node{name, pair[i]}, pair[i+1].Content...)
			have.Content = append(have.Content, pair[i+1])
		}
	case have.Kind == yaml.MappingNode:
		have.Content = append(have.Content, added.Content[1].Content...)
	default:
		return text, nil
	}
	return yaml.Marshal(&spec)
}

// valueOf gives the value of a mapping's key, nil when it is not there.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
