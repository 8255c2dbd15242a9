package e2e

import (
	"maps"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// codexStage is a stage for Codex, with more variables.
func codexStage(t *testing.T, more map[string]string) *stage {
	t.Helper()
	needDialers(t)
	for _, a := range realAgents {
		if a.name == "codex" {
			a.env = maps.Clone(a.env)
			maps.Copy(a.env, more)
			return newStage(t, a)
		}
	}
	t.Fatal("there is no row for codex")
	return nil
}

// Models that Codex does not know get plain tools instead of one that runs
// programs: the same rules hold, also where the agent may write in few folders.
func TestCodexWithAModelItDoesNotKnow(t *testing.T) {
	st := codexStage(t, map[string]string{"CODEX_MODEL": "scripted"})
	id := st.enter("permissions: {default: ask, filesystem: {mode: workspace}}\n").SessionID
	for _, s := range []scenario{
		{"text", playText}, {"approved", playApproved}, {"rejected", playRejected}, {"edited input", playEditedInput}, {"question", playQuestion},
		{"cancel running", playCancelRunning}, {"cancel asking", playCancelAsking}, {"killed between runs", playKilledBetween},
	} {
		t.Run(s.name, func(t *testing.T) { s.play(st.on(t), id) })
	}
	if st.far.model.heard(`"exec_command"`, `"scripted"`) == 0 || st.far.model.heard(`additional_tools`) > 0 {
		t.Error("the model was not offered plain tools")
	}
}

// What Codex itself would let pass goes nowhere: the gate runs only what was
// allowed, nothing is typed into a running command, a patch is an edit however
// it is made, and what binds Codex is out of the agent's reach.
func TestCodexKeepsToItsGate(t *testing.T) {
	st := codexStage(t, nil)
	id := st.enter("permissions:\n  default: allow\n  rules:\n    - {tool: file.write, match: {path: secret*}, action: deny}\n").SessionID
	gate := "/opt/paddock/bin/paddock-guest codex-gate "
	for text, want := range map[string]string{
		"RUN: " + gate + "GUESSED":                     "nothing waits for that",
		`CALL: exec_command {"cmd":"bash","tty":true}`: "TTY execution is disabled",
		`CALL: exec_command {"cmd":"apply_patch <<'E'\n*** Begin Patch\n*** Add File: secret.txt\n+x\n*** End Patch\nE"}`: "a patch is applied with the tool apply_patch",
		"WRITE: ../workspace/secret.txt x":                              "denied by policy",
		`CALL: spawn_agent {"message":"hi","task_name":"x"}`:            "there are no sub-agents here",
		"RUN: echo x >> /etc/codex/requirements.toml":                   "Permission denied",
		"RUN: rm /run/paddock-codex/socket":                             "Permission denied",
		"RUN: mv /run/paddock-codex /run/elsewhere || echo it is bound": "it is bound",
	} {
		_, said := st.wantCompleted(id, text)
		if !strings.Contains(said, want) {
			t.Errorf("%s: the agent said %q", text, said)
		}
	}
	if _, said := st.wantCompleted(id, `CALL: exec_command {"cmd":"echo x > secret.txt","workdir":"/workspace"}`); !strings.Contains(said, "denied by policy") {
		t.Errorf("the agent said %q", said)
	}
	if _, said := st.wantCompleted(id, `CALL: exec_command {"cmd":"echo x > ../workspace/secret.txt","workdir":"/tmp"}`); !strings.Contains(said, "denied by policy") {
		t.Errorf("the agent said %q", said)
	}
	if got := st.sh(id, "ls; pgrep -x bash; true"); got != "" {
		t.Errorf("there is %q", got)
	}
	if _, said := st.wantCompleted(id, "WRITE: open.txt x"); strings.Contains(said, "denied") || st.sh(id, "cat open.txt") != "x\n" {
		t.Errorf("the agent said %q", said)
	}
}

// A call for which the policy cannot be asked is not made.
func TestCodexWithoutItsGateRunsNothing(t *testing.T) {
	st := codexStage(t, nil)
	id := st.enter("permissions: {default: allow}\n").SessionID
	st.wantCompleted(id, "hello")
	if r, _ := st.execWith(id, map[string]any{"argv": []string{"rm", "/run/paddock-codex/socket"}, "user": "root"}); r.ExitCode != 0 {
		t.Fatal(r.Stderr)
	}
	_, said := st.wantCompleted(id, "RUN: touch unasked.txt")
	if !strings.Contains(said, "the policy cannot be asked") {
		t.Errorf("the agent said %q", said)
	}
	if code, _, _ := st.exec(id, "test", "-e", "unasked.txt"); code == 0 {
		t.Error("a command ran that nobody had decided on")
	}
}

// A person may take longer than Codex would wait for a hook: the command waits
// where Codex waits for ever, and runs then.
func TestCodexWaitsForAPerson(t *testing.T) {
	st := codexStage(t, nil)
	id := st.enter("permissions: {default: ask}\n").SessionID
	run := st.send(id, "RUN: touch late.txt")
	a := st.waitAsk(id, run)
	st.sh(id, "sleep 40") // Codex gives up a call after 30 s
	if end := st.run(id, run); end.State != "RUN_STATE_AWAITING_HITL" {
		t.Errorf("the run is %+v", end)
	}
	if code, _, _ := st.exec(id, "test", "-e", "late.txt"); code == 0 {
		t.Error("the command ran before it was allowed")
	}
	if err := st.answer(id, a.HITLID, godo.HostedAgentHITLOutcomeApprove, nil); err != nil {
		t.Fatal(err)
	}
	if end := st.waitRun(id, run); end.Kind != godo.HostedAgentEventKindRunCompleted {
		t.Errorf("ended as %s %s", end.Kind, end.Payload)
	}
	if code, _, _ := st.exec(id, "test", "-e", "late.txt"); code != 0 {
		t.Error("an allowed command did not run")
	}
}
