package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/digitalocean/godo"

	"paddock/internal/agents"
)

// TestRealKeys has each agent whose model's key is in the environment take one turn
// with the real model. It costs money, so it is asked for: make real-agents.
func TestRealKeys(t *testing.T) {
	if os.Getenv("PADDOCK_REAL_AGENTS") == "" {
		t.Skip("not run: it speaks to real models; see make real-agents")
	}
	needDialers(t)
	for _, name := range agents.Names() {
		t.Run(name, func(t *testing.T) {
			a, _ := agents.Find(name)
			if !a.Installable() {
				t.Skipf("not run: %s", a.Obtain)
			}
			secrets, env, wanted := "", map[string]string{}, []string{}
			for _, k := range a.Keys {
				wanted = append(wanted, k.Variable)
				if value := os.Getenv(k.Variable); value != "" {
					secrets += fmt.Sprintf("  %s: %q\n", k.Variable, value)
				}
				if base := os.Getenv(k.BaseURL); k.BaseURL != "" && base != "" {
					env[k.BaseURL] = base
				}
			}
			if secrets == "" {
				t.Skipf("not run: there is no key in %s", strings.Join(wanted, ", "))
			}
			folder := realAgent{name: name}.install(t)
			s := startServer(t, "--agents", folder)
			spec := "agent: " + name + "\nsize: medium\nsecrets:\n" + secrets
			if len(env) > 0 {
				spec += "env:\n"
			}
			for variable, base := range env {
				spec += fmt.Sprintf("  %s: %q\n", variable, base)
			}
			id := s.create(spec).SessionID
			run := s.send(id, "Reply with the single word ready, and use no tool.")
			end := s.waitRun(id, run)
			if end.Kind != godo.HostedAgentEventKindRunCompleted || !strings.Contains(strings.ToLower(s.said(id, run)), "ready") {
				t.Fatalf("ended as %s %s", end.Kind, end.Payload)
			}
			t.Logf("ran: %s answered", a.Title)
		})
	}
}
