package chat

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"paddock/client"
	"paddock/internal/plain"
)

// Apply reads the next event. One that has been read before changes nothing.
func (c *Conversation) Apply(e client.Event) {
	if n := len(c.log); n > 0 && e.Seq <= c.log[n-1].Seq {
		return
	}
	c.log = append(c.log, e)
	p := client.ReadPayload(e)
	switch e.Type {
	case "run.started":
		c.started(e, p)
	case "run.token_delta":
		c.said(e, p)
	case "run.tool_call_started":
		c.called(e, p)
	case "run.tool_call_completed":
		c.returned(e, p)
	case "run.human_input_requested":
		c.asked(e, p)
	case "run.human_input_received":
		c.answered(e, p)
	case "run.usage_recorded":
		c.used(e, p)
	case "run.cost_accrued":
		if r := c.active(e); r != nil {
			r.CostMicros = p.TotalMicros
		}
	case "run.completed", "run.failed":
		c.ended(e, p)
	case "run.log":
		if p.Notable() {
			c.note(e, plain.Clean(p.Message), p.Grim())
		}
	case "policy.denied":
		c.denied(e, p)
	case "session.updated":
		c.updated(e, p)
	}
}

// add begins an item; what was being said has ended with that.
func (c *Conversation) add(e client.Event, kind Kind, text string) *Item {
	item := &Item{Kind: kind, Key: e.EventID, Run: e.RunID, Text: text}
	c.Items = append(c.Items, item)
	c.cleaner = plain.Cleaner{}
	return item
}

func (c *Conversation) note(e client.Event, text string, grim bool) {
	if text = strings.TrimSpace(text); text != "" {
		c.add(e, Note, text).Grim = grim
	}
}

// active is the run of an event. The history may begin in the middle of one.
func (c *Conversation) active(e client.Event) *Run {
	if e.RunID == "" || c.over[e.RunID] {
		return nil
	}
	if c.Run == nil || c.Run.ID != e.RunID {
		c.Run = &Run{ID: e.RunID, Started: e.Timestamp}
		c.known[e.RunID] = true
		c.dequeue(e.RunID)
	}
	return c.Run
}

func (c *Conversation) dequeue(run string) {
	c.Queue = slices.DeleteFunc(c.Queue, func(q Queued) bool { return q.Run == run })
}

func (c *Conversation) started(e client.Event, p client.Payload) {
	c.Changes++
	c.active(e)
	c.add(e, Prompt, plain.Clean(p.Text))
}

func (c *Conversation) said(e client.Event, p client.Payload) {
	r := c.active(e)
	kind := Answer
	if p.IsReasoning {
		kind = Thought
	} else if r != nil {
		r.answered = true
	}
	var item *Item
	if n := len(c.Items); n > 0 && c.Items[n-1].Kind == kind && c.Items[n-1].Run == e.RunID {
		item = c.Items[n-1]
	} else {
		item = c.add(e, kind, "")
	}
	item.Text += c.cleaner.Clean(p.Text)
	item.Version++
}

// tool finds the item of a tool call, or makes it.
func (c *Conversation) tool(e client.Event, call string) *Item {
	key := e.RunID + " " + call
	if item := c.tools[key]; item != nil {
		item.Version++
		return item
	}
	item := c.add(e, Call, "")
	item.Key = key
	item.Tool = &Tool{State: Working, Started: e.Timestamp}
	c.tools[key] = item
	return item
}

func (c *Conversation) called(e client.Event, p client.Payload) {
	c.active(e)
	t := c.tool(e, p.ToolCallID).Tool
	t.Name = plain.CleanLine(p.Name)
	t.Gist, t.Input = describe(p.Input)
}

func (c *Conversation) returned(e client.Event, p client.Payload) {
	c.active(e)
	t := c.tool(e, p.ToolCallID).Tool
	t.Output = strings.TrimRight(plain.Clean(p.Summary), "\n ")
	t.ExitCode = p.ExitCode
	t.Took = time.Duration(p.DurationMS) * time.Millisecond
	switch {
	case t.State == Rejected || t.State == Denied:
	case p.OK && (p.ExitCode == nil || *p.ExitCode == 0):
		t.State = Done
	default:
		t.State = Failed
	}
}

func (c *Conversation) used(e client.Event, p client.Payload) {
	c.Model = cmp.Or(plain.CleanLine(p.ModelID), c.Model)
	r := c.active(e)
	if r == nil || r.steps[p.StepID] && p.StepID != "" {
		return
	}
	if r.steps == nil {
		r.steps = map[string]bool{}
	}
	r.steps[p.StepID] = true
	r.In += p.Usage.Input
	r.Out += p.Usage.Output
}

func (c *Conversation) denied(e client.Event, p client.Payload) {
	rule := plain.CleanLine(p.Rule)
	if n := len(c.Items); n > 0 && c.Items[n-1].Run == e.RunID && c.Items[n-1].Kind == Call && c.Items[n-1].Tool.Open() {
		item := c.Items[n-1]
		item.Tool.State, item.Tool.Reason = Denied, rule
		item.Version++
		return
	}
	c.note(e, "denied: "+plain.CleanLine(p.Tool+" "+p.Detail)+because(rule), true)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
