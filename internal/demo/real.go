package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"paddock/client"
	"paddock/internal/agents"
	"paddock/internal/agents/installed"
)

// real is an agent that somebody else makes, with the keys that it is given; the
// zero value is none.
type real struct {
	agent agents.Agent
	keys  map[string]string
	env   map[string]string
}

// findReal gives the first installed agent whose model's key is in the
// environment, or says in a sentence why there is none.
func findReal(folder installed.Folder) (found real, why string) {
	why = "No real agent is installed here; paddock agent install codex (or another) and its key would add a turn of it."
	for _, name := range agents.Names() {
		if folder.Current(name) == "" {
			continue
		}
		a, _ := agents.Find(name)
		r := real{a, map[string]string{}, map[string]string{}}
		var wanted []string
		for _, k := range a.Keys {
			wanted = append(wanted, k.Variable)
			if value := os.Getenv(k.Variable); value != "" {
				r.keys[k.Variable] = value
			}
			if base := os.Getenv(k.BaseURL); k.BaseURL != "" && base != "" {
				r.env[k.BaseURL] = base
			}
		}
		if len(r.keys) > 0 {
			return r, ""
		}
		why = fmt.Sprintf("%s is installed, but took no turn: its model's key is not in the environment (%s).", a.Title, strings.Join(wanted, ", "))
	}
	return real{}, why
}

// realTurn has it answer once, as the session of the demo, which is free again.
func (d *show) realTurn(ctx context.Context) (string, error) {
	spec, err := json.Marshal(map[string]any{"name": session, "agent": d.real.agent.Name, "size": "medium", "secrets": d.real.keys, "env": d.real.env})
	if err != nil {
		return "", err
	}
	s, err := d.api.CreateSession(ctx, spec, client.CreateOptions{})
	if err != nil {
		return "", err
	}
	if s, err = d.await(ctx, s.SessionID, client.SessionReady); err != nil {
		return "", err
	}
	answer, err := d.say(ctx, "Reply in five words at most, and use no tool: are you there?")
	if err == nil && strings.TrimSpace(answer) == "" {
		err = errors.New("it said nothing")
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s: “%s”", d.real.agent.Title, s.AdapterVersion, firstLine(answer)), d.removeAll(ctx)
}
