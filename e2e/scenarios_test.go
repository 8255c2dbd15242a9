package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// scenario is a column of the table. Those of one session are played one after
// the other in it; each leaves it able to go on.
type scenario struct {
	name string
	play func(st *stage, id string)
}

// act is a session, and what is played in it.
type act struct {
	name  string
	spec  string // beside the agent and its variables
	plays []scenario
}

// echoServer is an MCP server with one tool, fake_echo.
const echoServer = `import json,sys
for line in sys.stdin:
    m=json.loads(line)
    if m.get("id") is None: continue
    k=m["method"]
    r={}
    if k=="initialize": r={"protocolVersion":m["params"]["protocolVersion"],"capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}
    if k=="tools/list": r={"tools":[{"name":"fake_echo","description":"Gives back a text","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}
    if k=="tools/call": r={"content":[{"type":"text","text":"the echo of "+m["params"]["arguments"].get("text","")}]}
    print(json.dumps({"jsonrpc":"2.0","id":m["id"],"result":r}),flush=True)
`

// acts are the columns.
var acts = []act{
	{"a person decides", "permissions: {default: ask}\n", []scenario{
		{"text", playText}, {"reasoning", playReasoning}, {"approved", playApproved}, {"rejected", playRejected}, {"edited input", playEditedInput},
		{"file", playFile}, {"question", playQuestion}, {"model errs once", playErrsOnce},
		{"cancel queued", playCancelQueued}, {"cancel speaking", playCancelSpeaking}, {"cancel running", playCancelRunning}, {"cancel asking", playCancelAsking},
		{"killed between runs", playKilledBetween}, {"paused", playPaused},
	}},
	{"rules decide", "permissions:\n  default: deny\n  rules:\n    - {tool: bash, match: {command: \"echo *\"}, action: allow}\n    - {tool: mcp.echo.*, action: allow}\n" +
		"tools: [{name: echo, command: [/usr/bin/python3, -c, " + fmt.Sprintf("%q", echoServer) + "]}]\n" +
		"skills: [{name: greet, content: \"---\\nname: greet\\ndescription: Greets people in Latin.\\n---\\nSay salve.\\n\"}]\n", []scenario{
		{"skill", playSkill}, {"allowed", playAllowed}, {"denied", playDenied}, {"read denied", playReadDenied}, {"mcp", playMCP}, {"killed in a run", playKilledIn},
	}},
	{"root, in its workspace alone", "run_as: root\npermissions: {default: allow, filesystem: {mode: workspace}}\n", []scenario{{"confined root", playConfinedRoot}}},
	{"key at the gate", "secrets: {$KEY: the-real-key}\n", []scenario{{"brokered key", playBrokeredKey}}},
	{"model refuses", "", []scenario{{"model error", playModelError}}},
	{"model is overloaded", "", []scenario{{"model overloaded", playOverloaded}}},
	{"stream is cut", "", []scenario{{"cut", playCut}}},
}

// TestScenarios plays every scenario with every agent, its model scripted on a
// host outside.
func TestScenarios(t *testing.T) {
	needDialers(t)
	for _, agent := range realAgents {
		t.Run(agent.name, func(t *testing.T) {
			st := newStage(t, agent)
			for _, a := range acts {
				t.Run(a.name, func(t *testing.T) {
					if strings.Contains(a.spec, keyHere) && agent.keyIn == "" {
						t.Skip(agent.name + " is not known to have a key of its model")
					}
					st := st.on(t)
					id := st.enter(a.spec).SessionID
					for _, s := range a.plays {
						t.Run(s.name, func(t *testing.T) {
							if why := agent.lacks[s.name]; why != "" {
								t.Skip(agent.name + " " + why)
							}
							defer took(t, time.Now())
							s.play(st.on(t), id)
						})
					}
					assertLog(t, st.history(id))
				})
			}
		})
	}
}

func playText(st *stage, id string) {
	run, said := st.wantCompleted(id, "hello there")
	if !strings.Contains(said, "reply ") || !strings.Contains(said, "hello there") {
		st.t.Errorf("the agent said %q", said)
	}
	if st.far.model.heard("hello there") == 0 {
		st.t.Error("the model was not asked")
	}
	if got := st.far.model.last().Key; st.agent.key != "" && got != st.agent.key {
		st.t.Errorf("the model got the key %q", got)
	}
	r := st.run(id, run)
	if r.State != "RUN_STATE_COMPLETED" || r.TokensIn == 0 || r.TokensOut == 0 {
		st.t.Errorf("the run is %+v", r)
	}
	events := st.history(id)
	if n := count(events, run, godo.HostedAgentEventKindTokenChunk); n == 0 { // pieces that come at once are told as one
		st.t.Errorf("the text came in %d pieces", n)
	}
	if n := count(events, run, "run.cost_accrued"); (n > 0) != st.agent.costs {
		st.t.Errorf("the cost was told %d times", n)
	}
	usage, raw := 0, 0
	for _, e := range events {
		if e.RunID == run && e.Kind == "run.usage_recorded" {
			usage++
		}
		if e.RunID == run && len(e.SourceRaw) > 0 {
			raw++
		}
	}
	if usage == 0 || raw == 0 {
		st.t.Errorf("%d events of usage, %d with the agent's own frame", usage, raw)
	}
}

// playSkill has the model told of a skill that the spec gives.
func playSkill(st *stage, id string) {
	if st.agent.name != "claude-code" && st.agent.name != "codex" {
		st.t.Skipf("%s takes no skills", st.agent.name)
	}
	st.wantCompleted(id, "hello skills")
	if st.far.model.heard("hello skills", "Greets people in Latin.") == 0 {
		st.t.Error("the model was not told of the skill")
	}
}

func playReasoning(st *stage, id string) {
	run, _ := st.wantCompleted(id, "THINK")
	var thought strings.Builder
	for _, e := range st.history(id) {
		if e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk {
			if p := payload[struct {
				Text      string
				Reasoning bool `json:"is_reasoning"`
			}](st.t, e); p.Reasoning {
				thought.WriteString(p.Text)
			}
		}
	}
	if !strings.Contains(thought.String(), "Let me think about it.") {
		st.t.Errorf("it thought %q", thought.String())
	}
}

// playTool plays a turn with a tool that a person decides on, and gives the
// questions and the end.
func (st *stage) playTool(id, text string, outcome godo.HostedAgentHITLOutcome) (run string, asks []form) {
	st.t.Helper()
	run = st.send(id, text)
	end, asks := st.settle(id, run, outcome)
	if end.Kind != godo.HostedAgentEventKindRunCompleted || len(asks) == 0 {
		st.t.Fatalf("%q ended as %s %s after %d questions", text, end.Kind, end.Payload, len(asks))
	}
	events := st.history(id)
	if n, m := count(events, run, godo.HostedAgentEventKindToolCallStarted), count(events, run, godo.HostedAgentEventKindToolCallCompleted); n == 0 || n != m {
		st.t.Errorf("%d tool calls started, %d completed", n, m)
	}
	return run, asks
}

// commandAsked says whether any question was about a command with the part.
func commandAsked(asks []form, part string) bool {
	for _, q := range asks {
		if q.Action == "HITL_ACTION_BASH" && strings.Contains(q.Details.Command, part) {
			return true
		}
	}
	return false
}

func playApproved(st *stage, id string) {
	run, asks := st.playTool(id, "RUN: echo from the tool > proof.txt && echo it said so", godo.HostedAgentHITLOutcomeApprove)
	if !commandAsked(asks, "from the tool") {
		st.t.Errorf("asked %+v", asks)
	}
	if got := st.sh(id, "cat proof.txt"); got != "from the tool\n" {
		st.t.Errorf("proof.txt is %q", got)
	}
	if st.far.model.heard("it said so", "tool") < 2 { // the prompt, then the result
		st.t.Error("the model was not told what the tool gave")
	}
	if said := st.said(id, run); !strings.Contains(said, "it said so") {
		st.t.Errorf("the agent said %q", said)
	}
}

func playRejected(st *stage, id string) {
	_, asks := st.playTool(id, "RUN: touch rejected.txt", godo.HostedAgentHITLOutcomeReject)
	if !commandAsked(asks, "touch rejected.txt") {
		st.t.Errorf("asked %+v", asks)
	}
	if code, _, _ := st.exec(id, "test", "-e", "rejected.txt"); code == 0 {
		st.t.Error("a rejected command ran")
	}
	if st.agent.tellsWhy && st.far.model.heard("because of the test") == 0 {
		st.t.Error("the model was not told why")
	}
	st.outlives(id)
}

func playEditedInput(st *stage, id string) {
	if !st.agent.edits {
		st.t.Skip(st.agent.name + " takes no other input with a permission")
	}
	run := st.send(id, "RUN: touch asked.txt")
	a := st.waitAsk(id, run)
	st.decide(id, a.HITLID, map[string]any{"input": map[string]string{"command": "touch edited.txt"}})
	if end := st.waitRun(id, run); end.Kind != godo.HostedAgentEventKindRunCompleted {
		st.t.Fatalf("ended as %s %s", end.Kind, end.Payload)
	}
	if got := st.sh(id, "ls | grep -E 'asked|edited'"); got != "edited.txt\n" {
		st.t.Errorf("there is %q", got)
	}
}

func playFile(st *stage, id string) {
	_, asks := st.playTool(id, "WRITE: made.txt by hand", godo.HostedAgentHITLOutcomeApprove)
	if got := st.sh(id, "cat made.txt"); got != "by hand\n" {
		st.t.Errorf("made.txt is %q", got)
	}
	for _, q := range asks {
		if strings.Contains(q.Details.Path, "made.txt") || strings.Contains(string(q.Details.Input), "made.txt") {
			return
		}
	}
	st.t.Errorf("asked %+v", asks)
}

func playQuestion(st *stage, id string) {
	run, asks := st.playTool(id, "ASKUSER", godo.HostedAgentHITLOutcomeApprove)
	if len(asks) != 1 || !strings.Contains(asks[0].Details.Question, "Which colour?") {
		st.t.Errorf("asked %+v", asks)
	}
	if said := st.said(id, run); !strings.Contains(said, "Red") {
		st.t.Errorf("the agent said %q", said)
	}
}

func playErrsOnce(st *stage, id string) {
	before := st.far.model.heard("this once ERRONCE: 429")
	run, said := st.wantCompleted(id, "this once ERRONCE: 429")
	if !strings.Contains(said, "reply ") || st.far.model.heard("this once ERRONCE: 429") < before+2 {
		st.t.Errorf("the agent said %q after %d requests", said, st.far.model.heard("this once ERRONCE: 429")-before)
	}
	if r := st.run(id, run); r.State != "RUN_STATE_COMPLETED" {
		st.t.Errorf("the run is %+v", r)
	}
}

func playCancelQueued(st *stage, id string) {
	first := st.send(id, "SLOW: 100")
	second := st.send(id, "never said")
	st.waitSpoken(id, first)
	began := time.Now()
	for _, run := range []string{second, first} {
		if got := st.cancel(id, run); got != "acked" {
			st.t.Errorf("cancel met %s", got)
		}
		st.wantCancelled(id, run, began)
	}
	if st.far.model.heard("never said") > 0 {
		st.t.Error("the model was asked for a run that was cancelled in the queue")
	}
	st.outlives(id)
}

func playCancelSpeaking(st *stage, id string) {
	run := st.send(id, "SLOW: 100")
	st.waitSpoken(id, run)
	began := time.Now()
	st.cancel(id, run)
	st.wantCancelled(id, run, began)
	st.outlives(id)
}

func playCancelRunning(st *stage, id string) {
	run := st.send(id, "RUN: sleep 91234")
	if err := st.answer(id, st.waitAsk(id, run).HITLID, godo.HostedAgentHITLOutcomeApprove, nil); err != nil {
		st.t.Fatal(err)
	}
	st.waitProcesses(id, "sleep 91234", "1")
	began := time.Now()
	st.cancel(id, run)
	st.wantCancelled(id, run, began)
	if n := st.sh(id, countProcesses("sleep 91234")); n != "0\n" {
		st.t.Errorf("%s processes of the cancelled run live", strings.TrimSpace(n))
	}
	st.outlives(id)
}

func playCancelAsking(st *stage, id string) {
	run := st.send(id, "RUN: touch cancelled.txt")
	a := st.waitAsk(id, run)
	began := time.Now()
	st.cancel(id, run)
	st.wantCancelled(id, run, began)
	wantRefusal(st.t, st.answer(id, a.HITLID, godo.HostedAgentHITLOutcomeApprove, nil), http.StatusConflict, "expired")
	st.outlives(id)
	if code, _, _ := st.exec(id, "test", "-e", "cancelled.txt"); code == 0 {
		st.t.Error("a command of a cancelled run ran")
	}
}

func playKilledBetween(st *stage, id string) {
	st.killAgent(id)
	st.outlives(id)
}

func playPaused(st *stage, id string) {
	pids := st.sh(id, st.agentPids())
	st.pauseAway(id)
	st.outlives(id)
	if now := st.sh(id, st.agentPids()); now != pids {
		st.t.Errorf("the agent has other processes after a pause: %q, was %q", now, pids)
	}
}

func playAllowed(st *stage, id string) {
	_, said := st.wantCompleted(id, "RUN: echo allowed by a rule")
	if !strings.Contains(said, "allowed by a rule") {
		st.t.Errorf("the agent said %q", said)
	}
}

func playDenied(st *stage, id string) {
	run := st.send(id, "RUN: touch denied.txt")
	end, asks := st.settle(id, run, godo.HostedAgentHITLOutcomeApprove)
	if end.Kind != godo.HostedAgentEventKindRunCompleted || len(asks) > 0 {
		st.t.Errorf("ended as %s %s after %d questions", end.Kind, end.Payload, len(asks))
	}
	if code, _, _ := st.exec(id, "test", "-e", "denied.txt"); code == 0 {
		st.t.Error("a denied command ran")
	}
	st.waitDenied(id, "touch denied.txt")
	if st.agent.tellsWhy && st.far.model.heard("permissions.default is deny") == 0 {
		st.t.Error("the model was not told why")
	}
}

// A file that is read by the agent's own tool comes before the rules, too.
func playReadDenied(st *stage, id string) {
	st.sh(id, "echo its content > secret.txt")
	run := st.send(id, "READ: /workspace/secret.txt")
	end, asks := st.settle(id, run, godo.HostedAgentHITLOutcomeApprove)
	if end.Kind != godo.HostedAgentEventKindRunCompleted || len(asks) > 0 {
		st.t.Errorf("ended as %s %s after %d questions", end.Kind, end.Payload, len(asks))
	}
	if st.far.model.heard("its content") > 0 {
		st.t.Error("the model was told a file that may not be read")
	}
	st.waitDenied(id, "/workspace/secret.txt")
}

// Root of the sandbox is as confined as its user, and remembers when it is killed.
func playConfinedRoot(st *stage, id string) {
	st.wantCompleted(id, "RUN: touch /etc/made; id -u > here.txt")
	if got := st.sh(id, "cat here.txt; ls /etc/made 2>/dev/null; true"); got != "0\n" {
		st.t.Errorf("there is %q", got)
	}
	st.killAgent(id)
	st.outlives(id)
}

// The model's server gets the real key, which is nowhere in the sandbox.
func playBrokeredKey(st *stage, id string) {
	st.wantCompleted(id, "hello with a key")
	if got := st.far.model.last().Key; got != "the-real-key" {
		st.t.Errorf("the model got the key %q", got)
	}
	st.asRoot(id, `! grep -rl the-real-key /home /workspace /tmp /run 2>/dev/null && ! cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -q the-real-key`)
}

func playMCP(st *stage, id string) {
	_, said := st.wantCompleted(id, "MCP: fake_echo")
	if !strings.Contains(said, "the echo of ping") {
		st.t.Errorf("the agent said %q", said)
	}
}

func playKilledIn(st *stage, id string) {
	run := st.send(id, "SLOW: 100")
	st.waitSpoken(id, run)
	st.killAgent(id)
	st.wantTerminal(id, run, 7, "killed")
}

// wantTerminal asserts that a run failed for good, with a code and a message.
func (st *stage) wantTerminal(id, run string, code int, message string) {
	st.t.Helper()
	f := payload[failed](st.t, st.waitRun(id, run))
	if f.Code != code || !f.Terminal || f.Cancelled || !strings.Contains(f.Message, message) {
		st.t.Errorf("failed with %+v", f)
	}
	_, _, err := st.client().HostedAgents.SendInput(st.t.Context(), id, &godo.HostedAgentSendInputRequest{Text: "hi"})
	wantRefusal(st.t, err, http.StatusConflict, "run is terminal")
}

func playModelError(st *stage, id string) { st.wantTerminal(id, st.send(id, "ERR: 400"), 1, "400") }

func playOverloaded(st *stage, id string) {
	run := st.send(id, "overloaded ERR: 529")
	st.wantTerminal(id, run, 1, "529")
	if n := st.far.model.heard("overloaded ERR: 529"); n < 2 {
		st.t.Errorf("the model was asked %d times; what may pass is tried again", n)
	}
}

func playCut(st *stage, id string) { st.wantTerminal(id, st.send(id, "now CUT"), 1, "") }
