package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// realAgent is a row of the scenario table: an agent that somebody else makes, and
// what is to be known of it. A new agent is a new row.
type realAgent struct {
	name string // the word of the spec, and of `paddock agent install`
	// env are its variables; $MODEL is the address of the scripted model.
	env   map[string]string
	size  string            // of its sandbox
	lacks map[string]string // scenarios that it cannot play, and why
	// What of a scenario differs.
	key      string // that the model's server gets; "" is not looked at
	keyIn    string // the variable that has it
	costs    bool   // it tells what a run cost
	edits    bool   // it takes another input with a permission
	tellsWhy bool   // its model learns why a call was rejected
}

// realAgents are the rows.
var realAgents = []realAgent{
	{
		name: "claude-code", size: "medium", key: "none-needed", keyIn: "ANTHROPIC_API_KEY",
		env: map[string]string{
			"ANTHROPIC_BASE_URL": "$MODEL", "ANTHROPIC_API_KEY": "none-needed", "ANTHROPIC_MODEL": "claude-sonnet-5", "CLAUDE_CODE_MAX_RETRIES": "2",
		},
		costs: true, edits: true, tellsWhy: true,
	},
	{
		name: "codex", size: "medium", key: "none-needed", keyIn: "OPENAI_API_KEY",
		env:   map[string]string{"OPENAI_BASE_URL": "$MODEL/v1", "OPENAI_API_KEY": "none-needed"},
		edits: true, tellsWhy: true,
		lacks: map[string]string{"read denied": "has no tool of its own that reads files; it reads them with commands"},
	},
	{
		name: "copilot", size: "medium", key: "none-needed", keyIn: "COPILOT_PROVIDER_API_KEY",
		env: map[string]string{
			"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "$MODEL/v1", "COPILOT_PROVIDER_API_KEY": "none-needed", "COPILOT_MODEL": "fake",
		},
		lacks: map[string]string{
			"question": "asks people nothing", "mcp": "does not offer the tools of such servers to a model of one's own",
			"read denied": "reads files without asking, as its mediation says",
		},
	},
	{
		name: "opencode", size: "medium", key: "none-needed",
		env: map[string]string{"OPENCODE_CONFIG_CONTENT": `{"model":"fake/fake","small_model":"fake/fake","enabled_providers":["fake"],"provider":{"fake":{` +
			`"npm":"@ai-sdk/openai-compatible","name":"Fake","options":{"baseURL":"$MODEL/v1","apiKey":"none-needed"},"models":{"fake":{"name":"Fake","tool_call":true}}}}}`},
		lacks: map[string]string{
			"question": "asks people nothing", "model overloaded": "tries again as long as the run may take", "cut": "tries again as long as the run may take",
		},
	},
}

// agentsCache is a folder of installed agents that all tests of this user share.
func agentsCache(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no cache folder for agents: %v", err)
	}
	return filepath.Join(cache, "paddock-test", "agents")
}

var installing sync.Mutex

// install has the agent installed, by the program under test, and gives the folder.
// Where there is no npm, or it reaches nothing, the test is skipped.
func (a realAgent) install(t *testing.T) string {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	folder := agentsCache(t)
	if _, err := os.Stat(filepath.Join(folder, a.name, "current")); err == nil {
		return folder
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skipf("%s is not played: npm is not installed", a.name)
	}
	cmd := exec.Command(program, "agent", "install", a.name, "--agents", folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%s is not played: it cannot be installed (%v): %s", a.name, err, out)
	}
	return folder
}

// stage is a server and a far host with the model, for all scenarios of one agent.
type stage struct {
	*server
	far   *far
	agent realAgent
}

func newStage(t *testing.T, a realAgent) *stage {
	t.Helper()
	folder := a.install(t)
	f := newFar(t)
	return &stage{startServer(t, "--dns", f.addr, "--agents", folder), f, a}
}

// on is the stage for a subtest.
func (st *stage) on(t *testing.T) *stage {
	c := *st
	c.server = st.by(t)
	return &c
}

// keyHere stands, in what is added to a spec, for the variable of the agent's key,
// which is then not among its plain variables.
const keyHere = "$KEY"

// enter makes a session of the agent; more is added to its spec. It may connect
// to the model, and nowhere else, without the spec saying so.
func (st *stage) enter(more string) *godo.HostedAgentSession {
	st.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "agent: %s\nsize: %s\negress: [nobody.test]\nenv:\n", st.agent.name, st.agent.size)
	for _, name := range slices.Sorted(maps.Keys(st.agent.env)) {
		if name == st.agent.keyIn && strings.Contains(more, keyHere) {
			continue
		}
		fmt.Fprintf(&b, "  %s: %q\n", name, strings.ReplaceAll(st.agent.env[name], "$MODEL", st.far.modelURL()))
	}
	return st.create(b.String() + strings.ReplaceAll(more, keyHere, st.agent.keyIn))
}

// form is a question as it is asked.
type form struct {
	HITLID  string `json:"hitl_id"`
	Action  string
	Details struct {
		Tool, Kind, Command, Path, Question string
		Editable                            bool
		Schema                              struct {
			Properties map[string]struct {
				Enum  []string
				OneOf []struct{ Const string }
			}
		}
		Input json.RawMessage
	}
}

// filled is an answer to a form: of each field the first choice.
func (f form) filled() map[string]any {
	content := map[string]any{}
	for name, field := range f.Details.Schema.Properties {
		content[name] = "Red"
		switch {
		case len(field.Enum) > 0:
			content[name] = field.Enum[0]
		case len(field.OneOf) > 0:
			content[name] = field.OneOf[0].Const
		}
	}
	return content
}

// settle answers whatever the run asks, some agents ask twice for one call, and
// gives its end and what was asked.
func (st *stage) settle(id, run string, outcome godo.HostedAgentHITLOutcome) (end godo.HostedAgentEvent, asks []form) {
	st.t.Helper()
	answered := map[string]bool{}
	eventually(st.t, "run "+run+" ended, its questions answered", func() bool {
		for _, e := range st.history(id) {
			switch {
			case e.RunID != run:
			case e.Kind == godo.HostedAgentEventKindHITLRequested:
				q := payload[form](st.t, e)
				if answered[q.HITLID] {
					continue
				}
				answered[q.HITLID] = true
				asks = append(asks, q)
				var content map[string]any
				if q.Details.Question != "" {
					content = q.filled()
				}
				if err := st.answer(id, q.HITLID, outcome, content); err != nil {
					st.t.Fatal(err)
				}
			case e.Kind == godo.HostedAgentEventKindRunCompleted || e.Kind == godo.HostedAgentEventKindRunFailed:
				end = e
				return true
			}
		}
		return false
	})
	return end, asks
}

// wantCompleted plays a turn in which nobody is asked.
func (st *stage) wantCompleted(id, text string) (run, said string) {
	st.t.Helper()
	run = st.send(id, text)
	end, asks := st.settle(id, run, godo.HostedAgentHITLOutcomeReject)
	if end.Kind != godo.HostedAgentEventKindRunCompleted || len(asks) > 0 {
		st.t.Fatalf("%q ended as %s %s after %d questions", text, end.Kind, end.Payload, len(asks))
	}
	return run, st.said(id, run)
}

// agentPids is a shell line that prints the agent's processes.
func (st *stage) agentPids() string {
	return `for f in /proc/[0-9]*; do tr '\0' ' ' < $f/cmdline 2>/dev/null | grep -q "^\(node \|\)/opt/paddock/agents/` + st.agent.name + `/" && echo ${f#/proc/}; done; true`
}

// killAgent kills the agent in its sandbox.
func (st *stage) killAgent(id string) {
	st.t.Helper()
	before := strings.Fields(st.sh(id, st.agentPids()))
	if len(before) == 0 {
		st.t.Fatal("no process of the agent runs")
	}
	st.asRoot(id, "kill -9 "+strings.Join(before, " "))
	st.waitExec(id, "for p in "+strings.Join(before, " ")+"; do [ -e /proc/$p ] && echo lives; done; true", "")
}

// outlives plays a turn that works again after what happened: the model's memory
// of n turns shows that the conversation is the old one.
func (st *stage) outlives(id string) {
	st.t.Helper()
	_, said := st.wantCompleted(id, "do you remember")
	if strings.Contains(said, "reply 1: ") || !strings.Contains(said, "reply ") {
		st.t.Errorf("the agent said %q: its conversation is lost", said)
	}
}

// pauseAway pauses the session until the model has closed every connection.
func (st *stage) pauseAway(id string) {
	st.t.Helper()
	if _, err := st.client().HostedAgents.PauseSession(context.Background(), id); err != nil {
		st.t.Fatal(err)
	}
	st.waitStatus(id, godo.HostedAgentSessionStatusPaused)
	eventually(st.t, "the model has closed all idle connections", func() bool { open, _ := st.far.model.connections(); return open == 0 })
}

// took logs how long a scenario took, for the time that the table may take.
func took(t *testing.T, began time.Time) {
	t.Logf("took %v", time.Since(began).Round(time.Millisecond))
}
