package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"paddock/client"
	"paddock/internal/plain"
)

// Read takes in the next event of the history.
func (d *Document) Read(e client.Event) {
	d.Events++
	d.Dropped += e.TruncatedBytes
	p := client.ReadPayload(e)
	switch e.Type {
	case "run.started":
		d.run(e)
		d.add(e, Input, plain.Clean(p.Text))
	case "run.token_delta":
		d.said(e, p)
	case "run.tool_call_started":
		d.called(e, p)
	case "run.tool_call_completed":
		d.returned(e, p)
	case "run.human_input_requested":
		d.asks[p.HITLID] = d.add(e, Approval, wanted(p.Details))
	case "run.human_input_received":
		d.replied(e, p)
	case "run.usage_recorded":
		r := d.run(e)
		r.in, r.out = r.in+p.Usage.Input, r.out+p.Usage.Output
	case "run.completed", "run.failed":
		d.ended(e, p)
	case "run.log":
		if p.Notable() {
			entry := d.add(e, Note, cmp.Or(map[string]string{"warn": "warning", "error": "error"}[p.Level], "note"))
			entry.Detail, entry.Grim = plain.CleanLine(p.Message), p.Grim()
		}
	case "policy.denied":
		entry := d.add(e, Note, "denied by policy")
		entry.Detail, entry.Grim = plain.CleanLine(p.Tool+" "+p.Detail)+because(plain.CleanLine(p.Rule)), true
	case "session.updated":
		d.updated(e, p)
	}
}

// said joins what is said or thought in pieces.
func (d *Document) said(e client.Event, p client.Payload) {
	kind := Answer
	if p.IsReasoning {
		kind = Thought
	} else {
		d.run(e).said = true
	}
	var entry *Entry
	if n := len(d.Entries); n > 0 && d.Entries[n-1].Kind == kind && d.Entries[n-1].Run == e.RunID {
		entry = d.Entries[n-1]
		entry.Dropped += e.TruncatedBytes
	} else {
		entry = d.add(e, kind, "")
	}
	entry.Text += d.cleaner.Clean(p.Text)
}

func (d *Document) called(e client.Event, p client.Payload) {
	entry := d.add(e, Tool, "")
	entry.Call = &Call{Name: cmp.Or(plain.CleanLine(p.Name), "tool"), Outcome: "did not end"}
	entry.Call.Gist, entry.Call.Input = describe(p.Input)
	d.calls[e.RunID+" "+p.ToolCallID] = entry
}

func (d *Document) returned(e client.Event, p client.Payload) {
	entry := d.calls[e.RunID+" "+p.ToolCallID]
	if entry == nil {
		d.called(e, p)
		entry = d.calls[e.RunID+" "+p.ToolCallID]
	} else {
		entry.Dropped += e.TruncatedBytes
	}
	c := entry.Call
	c.Output = strings.TrimRight(plain.Clean(p.Summary), "\n ")
	switch {
	case p.ExitCode != nil:
		c.Outcome = fmt.Sprintf("exit code %d", *p.ExitCode)
	case p.OK:
		c.Outcome = "done"
	default:
		c.Outcome = "failed"
	}
	c.Outcome += " after " + lasted(time.Duration(p.DurationMS)*time.Millisecond)
	entry.Grim = !p.OK || p.ExitCode != nil && *p.ExitCode != 0
}

func (d *Document) replied(e client.Event, p client.Payload) {
	entry := d.asks[p.HITLID]
	if entry == nil {
		entry = d.add(e, Approval, "something that this history does not hold")
		d.asks[p.HITLID] = entry
	}
	outcome := map[string]string{
		client.OutcomeApprove: "approved", client.OutcomeReject: "rejected", client.OutcomeDefer: "left for later",
		"HITL_OUTCOME_EXPIRED": "expired",
	}[p.Outcome]
	entry.Replies = append(entry.Replies, Reply{
		At: e.Timestamp.UTC(), Outcome: cmp.Or(outcome, "answered"), Actor: plain.CleanLine(p.Actor), Reason: plain.CleanLine(p.Reason),
	})
	entry.Grim = p.Outcome == client.OutcomeReject || p.Outcome == "HITL_OUTCOME_EXPIRED"
}

func (d *Document) ended(e client.Event, p client.Payload) {
	r := d.run(e)
	if text := plain.Clean(p.Text); !r.said && strings.TrimSpace(text) != "" {
		d.add(e, Answer, text)
		e.TruncatedBytes = 0 // told already
	}
	how := "completed"
	switch {
	case p.Cancelled:
		how = "cancelled"
	case e.Type == "run.failed":
		how = "failed"
	}
	parts := []string{how + " after " + lasted(e.Timestamp.Sub(r.started))}
	if in, out := cmp.Or(p.TokensIn, r.in), cmp.Or(p.TokensOut, r.out); in+out > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", in, out))
	}
	if p.CostMicros > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", float64(p.CostMicros)/1e6))
	}
	end := d.add(e, End, strings.Join(parts, ", "))
	end.Detail, end.Grim = plain.CleanLine(p.Message), how == "failed"
}

// states are a session's states in words.
var states = map[string]string{
	client.SessionProvisioning: "created", client.SessionReady: "ready", client.SessionPaused: "paused",
	client.SessionUpdating: "being rolled back", client.SessionDestroying: "removed", client.SessionFailed: "failed",
}

func (d *Document) updated(e client.Event, p client.Payload) {
	was := d.state
	d.state = p.Status
	text := states[p.Status]
	if p.Status == client.SessionReady && was == client.SessionPaused {
		text = "resumed"
	}
	if text == "" {
		return // destroyed: that it was removed is said
	}
	entry := d.add(e, Note, text+because(strings.ReplaceAll(plain.CleanLine(p.PauseReason), "_", " ")))
	entry.Detail, entry.Grim = plain.CleanLine(p.Message), p.Status == client.SessionFailed
}

// wanted is what a person is asked.
func wanted(d client.ApprovalDetails) string {
	switch {
	case d.Question != "":
		return plain.Clean(d.Question)
	case d.Command != "" && d.Dir != "":
		return plain.Clean(d.Command) + " (in " + plain.CleanLine(d.Dir) + ")"
	case d.Command != "":
		return plain.Clean(d.Command)
	case d.Path != "":
		return plain.CleanLine(d.Tool + " " + d.Path)
	}
	return plain.CleanLine(cmp.Or(d.Title, d.Tool))
}

// describe gives what a tool was called with: its command or path, and all of it
// where that is more.
func describe(input json.RawMessage) (gist, full string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || len(fields) == 0 {
		return "", ""
	}
	for _, name := range []string{"command", "path", "file_path"} {
		var one string
		var many []string
		if json.Unmarshal(fields[name], &one) != nil && json.Unmarshal(fields[name], &many) == nil {
			one = strings.Join(many, " ")
		}
		if one = plain.Clean(one); one == "" {
			continue
		}
		if gist = plain.CleanLine(one); gist == one && len(fields) == 1 {
			return gist, ""
		}
		break
	}
	var indented bytes.Buffer
	if json.Indent(&indented, input, "", "  ") != nil {
		return gist, ""
	}
	return gist, plain.Clean(indented.String())
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// lasted is a duration for people.
func lasted(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
