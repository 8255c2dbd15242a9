package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Every row can be obtained, started and told apart from the others.
func TestCatalogue(t *testing.T) {
	words := map[string]string{}
	for _, a := range catalogue {
		for _, word := range append([]string{a.Name}, a.Aliases...) {
			if other, taken := words[word]; taken {
				t.Errorf("%s means both %s and %s", word, other, a.Name)
			}
			words[word] = a.Name
			if got, ok := Find(strings.ToUpper(word)); !ok || got.Name != a.Name {
				t.Errorf("%s means %q", word, got.Name)
			}
		}
		if !slices.Contains([]string{"acp", "claude", "codex"}, a.Adapter) || a.Title == "" || a.Command == "" || a.Mediation != Full && a.Mediation != AskedOnly {
			t.Errorf("%s: %+v", a.Name, a)
		}
		if a.Installable() && (a.Version == "" || len(a.Program) == 0 || a.Obtain != "") || !a.Installable() && (a.Version != "" || a.Obtain == "") {
			t.Errorf("%s is neither to install nor to obtain", a.Name)
		}
		if len(a.Keys) == 0 {
			t.Errorf("%s has no key", a.Name)
		}
		for _, k := range a.Keys {
			if k.Variable == "" || k.Host == "" && k.BaseURL == "" {
				t.Errorf("%s: a key of no host: %+v", a.Name, k)
			}
		}
		if o := a.Overlay; o.Variable != "" && json.Unmarshal([]byte(o.Object), &map[string]any{}) != nil {
			t.Errorf("%s: %s", a.Name, o.Object)
		}
		if got, ok := OfKind(a.Kind); ok != (a.Kind != "") || ok && got.Name != a.Name {
			t.Errorf("%s of %q is %q", a.Kind, a.Name, got.Name)
		}
	}
	if _, ok := Find("hal"); ok || slices.Contains(Names(), "") {
		t.Error("an agent that does not exist")
	}
}

func TestArgv(t *testing.T) {
	for name, want := range map[string]string{
		"codex":  "/a/codex/1/bin/codex",
		"gemini": "node /a/codex/1/bin/gemini --acp",
		"goose":  "goose acp",
	} {
		a, _ := Find(name)
		if got := strings.Join(a.Argv("/a/codex/1"), " "); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	a, _ := Find("gemini")
	if got := a.Environ("/a/gemini/1")["GEMINI_CLI_SYSTEM_SETTINGS_PATH"]; got != "/a/gemini/1/paddock/settings.json" {
		t.Error(got)
	}
}
