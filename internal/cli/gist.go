package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"paddock/client"
)

// gist is an event in one line, without its type.
func gist(e client.Event) string {
	p := client.ReadPayload(e)
	switch e.Type {
	case "run.started":
		return quote(p.Text)
	case "run.token_delta":
		if p.IsReasoning {
			return "(thinks) " + quote(p.Text)
		}
		return quote(p.Text)
	case "run.tool_call_started":
		return toolLine(p)
	case "run.tool_call_completed":
		return toolEnd(p)
	case "run.human_input_requested":
		return question(p.Details) + "  " + p.HITLID
	case "run.human_input_received":
		return strings.TrimSpace(answered(p) + "  " + p.HITLID)
	case "run.failed":
		return oneLine(p.Message, 120)
	case "run.usage_recorded":
		return fmt.Sprintf("%d tokens in, %d out %s", p.Usage.Input, p.Usage.Output, p.ModelID)
	case "run.sandbox_allocated", "run.sandbox_released":
		return strings.TrimSpace(p.SandboxID + " " + first(p.Kind, p.Reason))
	case "run.log":
		return p.Level + ": " + oneLine(p.Message, 120)
	case "policy.denied":
		return strings.TrimSpace(p.Tool + " " + oneLine(p.Detail, 100))
	case "session.updated":
		return stateWord(client.Session{Status: p.Status, PauseReason: p.PauseReason}) + withReason(p.Message)
	default:
		return ""
	}
}

func quote(text string) string { return fmt.Sprintf("%q", oneLineKeep(text, 100)) }

// oneLineKeep cuts a text to n characters and keeps its blanks, which matter in
// pieces of text.
func oneLineKeep(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// toolLine says what tool was called and with what.
func toolLine(p client.Payload) string {
	var in struct {
		Command any    `json:"command"`
		Path    string `json:"path"`
	}
	_ = json.Unmarshal(p.Input, &in)
	with := in.Path
	switch command := in.Command.(type) {
	case string:
		with = command
	case []any:
		with = strings.Trim(fmt.Sprint(command), "[]")
	}
	if with == "" && len(p.Input) > 0 && string(p.Input) != "null" {
		with = string(p.Input)
	}
	return strings.TrimSpace(p.Name + "  " + oneLine(with, 100))
}

func toolEnd(p client.Payload) string {
	how := "done"
	switch {
	case p.ExitCode != nil && *p.ExitCode != 0:
		how = fmt.Sprintf("exit code %d", *p.ExitCode)
	case !p.OK:
		how = "failed"
	}
	return fmt.Sprintf("%s after %.1f s", how, float64(p.DurationMS)/1000) + withReason(p.Summary)
}

func withReason(text string) string {
	if text == "" {
		return ""
	}
	return ": " + oneLine(text, 100)
}

// question is what a person is asked, in one line.
func question(d client.ApprovalDetails) string {
	switch {
	case d.Question != "":
		return oneLine(d.Question, 200)
	case d.Command != "" && d.Dir != "":
		return "in " + oneLine(d.Dir, 60) + " run " + oneLine(d.Command, 200)
	case d.Command != "":
		return "run " + oneLine(d.Command, 200)
	case d.Path != "":
		return strings.TrimSpace(first(d.Tool, "touch") + " " + d.Path)
	default:
		return oneLine(first(d.Title, d.Tool, "go on"), 200)
	}
}

// answered says how an approval ended.
func answered(p client.Payload) string {
	how := map[string]string{
		client.OutcomeApprove: "approved", client.OutcomeReject: "rejected", client.OutcomeDefer: "left for later",
		"HITL_OUTCOME_EXPIRED": "expired",
	}[p.Outcome]
	text := first(how, p.Outcome)
	if p.Actor != "" {
		text += " by " + p.Actor
	}
	return text + withReason(p.Reason)
}
