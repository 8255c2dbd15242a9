package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The key of a model comes to the model's server and not into the sandbox, by the
// agent's name and its base URL alone.
func TestKeysOfModelsStayOutside(t *testing.T) {
	needDialers(t)
	const base = "http://api.far.test:8901"
	for _, agent := range realAgents {
		t.Run(agent.name, func(t *testing.T) {
			if !slices.Contains(slices.Collect(maps.Values(agent.env)), agent.key) {
				t.Skipf("%s has its key in no variable of its own here", agent.name)
			}
			st := newStage(t, agent)
			st.far.mu.Lock()
			st.far.names["api.far.test."] = st.far.addr
			st.far.mu.Unlock()
			var env, secrets strings.Builder
			for _, name := range slices.Sorted(maps.Keys(agent.env)) {
				value := strings.ReplaceAll(agent.env[name], "$MODEL", base)
				if value == agent.key {
					fmt.Fprintf(&secrets, "  %s: %s\n", name, brokeredSecret)
				} else {
					fmt.Fprintf(&env, "  %s: %q\n", name, value)
				}
			}
			id := st.create("agent: " + agent.name + "\nsize: " + agent.size + "\negress: [nobody.test]\nenv:\n" + env.String() + "secrets:\n" + secrets.String()).SessionID
			st.wantCompleted(id, "hello there")
			if got := st.far.model.last().Key; got != brokeredSecret {
				t.Errorf("the model got the key %q", got)
			}
			if got := st.sh(id, "env"); !strings.Contains(got, "=paddock-secret-") || strings.Contains(got, brokeredSecret) {
				t.Errorf("inside there is %s", got)
			}
			st.kill()
			st.restart()
			st.wantCompleted(id, "hello again")
			if got := st.far.model.last().Key; got != brokeredSecret {
				t.Errorf("after a restart the model got the key %q", got)
			}
		})
	}
}
