package guest_test

import (
	"strings"
	"testing"

	"paddock/internal/guestapi"
)

// An agent is given the MCP servers that it can use, and the history names the
// others.
func TestToolsAreGiven(t *testing.T) {
	const (
		program = `{"name":"docs","command":"/bin/sh","args":["-c","exit"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"},{"name":"PATH","value":"/bin"}]}`
		called  = `{"type":"http","name":"far","url":"https://far.example/mcp","headers":[{"name":"Authorization","value":"Bearer x"}]}`
		notOver = `tool far is not given to agent demo, which calls no MCP servers over HTTP`
	)
	for _, tc := range []struct {
		name, capabilities string
		given              string
		warned             bool
	}{
		{"programs only", `{"loadSession":true}`, `"mcpServers":[` + program + `]`, true},
		{"both", `{"mcpCapabilities":{"http":true}}`, `"mcpServers":[` + program + `,` + called + `]`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMachine(t)
			argv := m.script(map[string][]string{
				"initialize":     {`{"id":$ID,"result":{"protocolVersion":1,"agentCapabilities":` + tc.capabilities + `}}`},
				"session/new":    {`{"id":$ID,"result":{"sessionId":"s1"}}`, `{"method":"_heard","params":$PARAMS}`},
				"session/prompt": {endTurn},
			})
			m.agent(guestapi.Agent{Adapter: "acp", Name: "demo", Argv: argv, Tools: []guestapi.Tool{
				{Name: "docs", Command: []string{"sh", "-c", "exit"}, Env: map[string]string{"A": "1", "B": "2", "PATH": "/bin"}},
				{Name: "far", URL: "https://far.example/mcp", Headers: map[string]string{"Authorization": "Bearer x"}},
			}})
			if end := m.turn("go"); end.Outcome != guestapi.EndCompleted {
				t.Fatalf("%+v", end)
			}
			m.await("what the agent was given", func() bool { return m.loggedLocked(tc.given) })
			if strings.Contains(m.history(), notOver) != tc.warned {
				t.Errorf("warned: %t, want %t; reports:\n%s", !tc.warned, tc.warned, m.history())
			}
		})
	}
}
