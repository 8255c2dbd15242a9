package environment

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The key of a known agent's model goes to the model's host, unless it is said, or
// not known, where it goes.
func TestKeysOfModels(t *testing.T) {
	for text, want := range map[string][]string{
		"agent: claude-code\nsecrets: {ANTHROPIC_API_KEY: sk-ant-1, OTHER: value-1}": {"ANTHROPIC_API_KEY api.anthropic.com", "OTHER ",
			"line 2: secrets.ANTHROPIC_API_KEY: goes to api.anthropic.com alone, and is not there inside; under env it would be"},
		"agent: claude-code\nenv: {ANTHROPIC_BASE_URL: 'https://Proxy.example:8443/v1'}\nsecrets: {ANTHROPIC_API_KEY: sk-ant-1}\negress: [example.org]": {
			"ANTHROPIC_API_KEY proxy.example", "line 3: secrets.ANTHROPIC_API_KEY: goes to proxy.example alone, and is not there inside; under env it would be; egress does not list that host, but connections to it are allowed"},
		"agent: claude-code\nsecrets: {ANTHROPIC_API_KEY: sk-ant-1, B: {value: sk-ant-2, host: api.anthropic.com}}\negress: [example.org]": {
			"ANTHROPIC_API_KEY api.anthropic.com", "B api.anthropic.com",
			"line 2: secrets.ANTHROPIC_API_KEY: goes to api.anthropic.com alone, and is not there inside; under env it would be; egress does not list that host, but connections to it are allowed"},
		"agent: codex\nsecrets: {OPENAI_API_KEY: {value: sk-123, host: a.example}}": {"OPENAI_API_KEY a.example"},
		"agent: codex\nenv: {OPENAI_BASE_URL: 'http://10.0.0.1/v1'}\nsecrets: {OPENAI_API_KEY: sk-123}": {"OPENAI_API_KEY ",
			"line 3: secrets.OPENAI_API_KEY: is there inside as it is, since the host of env.OPENAI_BASE_URL has no name; with a host it would go nowhere else"},
		"agent: cursor\nsecrets: {CURSOR_API_KEY: key-123}": {"CURSOR_API_KEY ",
			"line 2: secrets.CURSOR_API_KEY: is there inside as it is, since cursor may use it with more than one host; with a host it would go nowhere else"},
		"agent: copilot\nsecrets: {COPILOT_PROVIDER_API_KEY: key-123}": {"COPILOT_PROVIDER_API_KEY ",
			"line 2: secrets.COPILOT_PROVIDER_API_KEY: is there inside as it is, since env.COPILOT_PROVIDER_BASE_URL does not say which host it is for; with a host it would go nowhere else"},
		"agent: demo\nsecrets: {ANTHROPIC_API_KEY: sk-ant-1}": {"ANTHROPIC_API_KEY "},
	} {
		spec, warnings, err := Parse([]byte(text), anyName)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []string
		for _, s := range spec.Secrets {
			got = append(got, fmt.Sprintf("%s %s", s.Name, s.Host))
		}
		for _, w := range warnings {
			got = append(got, w.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
