package environment

import (
	"encoding/json"
	"testing"
)

func hashOf(t *testing.T, text string) string {
	t.Helper()
	spec, _, err := Parse([]byte(text), func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	hash, err := spec.ContentHash()
	if err != nil || len(hash) != 64 {
		t.Fatal(hash, err)
	}
	return hash
}

// What a text means counts, not how it is written.
func TestContentHash(t *testing.T) {
	want := hashOf(t, "agent: demo\nenv: {A: x, B: y}\n")
	for text, same := range map[string]bool{
		"# a comment\nenv:\n  B: y\n  A: \"x\"\nagent: demo\n":             true,
		`{"agent":"demo","env":{"A":"x","B":"y"}}`:                         true,
		"agent: demo\nname: other\nenv: {A: x, B: y}\n":                    true,
		"agent: demo\nsize: small\nidle_timeout: 15m\nenv: {A: x, B: y}\n": true, // what it is anyway
		"agent: demo\nenv: {A: x, B: z}\n":                                 false,
		"agent: demo\nenv: {A: x, B: y}\nkeep_warm: true\n":                false,
		"agent: none\nenv: {A: x, B: y}\n":                                 false,
	} {
		if (hashOf(t, text) == want) != same {
			t.Errorf("%q: the same is %v", text, !same)
		}
	}
}

func TestDocument(t *testing.T) {
	for source, want := range map[string]string{
		"agent: demo # c\nenv: {A: \"1\"}\npermissions:\n  rules: [{tool: bash, action: deny}]\n": `{"agent":"demo","env":{"A":"1"},"permissions":{"rules":[{"action":"deny","tool":"bash"}]}}`,
		"":                  `{}`,
		`{"agent": "none"}`: `{"agent":"none"}`,
	} {
		document, err := Environment{Source: source}.Document()
		got, _ := json.Marshal(document)
		if err != nil || string(got) != want {
			t.Errorf("%q: %s %v", source, got, err)
		}
	}
	if _, err := (Environment{Source: "["}).Document(); err == nil {
		t.Error("what is no YAML has a document")
	}
}
