package chat

import (
	"cmp"
	"slices"
	"strings"

	"paddock/client"
	"paddock/internal/plain"
)

func (c *Conversation) asked(e client.Event, p client.Payload) {
	c.Changes++
	if c.active(e) == nil || c.settled[p.HITLID] {
		return
	}
	c.drop(p.HITLID) // as a list of approvals gave it
	ask := Ask{ID: p.HITLID, Run: e.RunID, Details: p.Details}
	if item := c.tools[e.RunID+" "+p.ToolCallID]; p.ToolCallID != "" && item != nil {
		ask.Tool = item.Key
		item.Tool.State = Asking
		item.Version++
	}
	c.Asks = append(c.Asks, ask)
	if p.Details.Question != "" {
		c.note(e, "asks: "+plain.Clean(p.Details.Question), false)
	}
}

// drop forgets a question and says what it was.
func (c *Conversation) drop(id string) (Ask, bool) {
	i := slices.IndexFunc(c.Asks, func(a Ask) bool { return a.ID == id })
	if i < 0 {
		return Ask{}, false
	}
	ask := c.Asks[i]
	c.Asks = slices.Delete(c.Asks, i, i+1)
	return ask, true
}

func (c *Conversation) answered(e client.Event, p client.Payload) {
	c.Changes++
	ask, waited := c.drop(p.HITLID)
	reason := plain.CleanLine(p.Reason)
	if p.Outcome == client.OutcomeDefer {
		if waited {
			ask.Later = true
			c.Asks = append(c.Asks, ask)
		}
		return
	}
	c.settled[p.HITLID] = true
	item := c.itemOf(ask.Tool)
	if item != nil {
		item.Version++
	}
	switch {
	case p.Outcome == client.OutcomeApprove && item != nil:
		item.Tool.State = Working
	case p.Outcome == client.OutcomeApprove && !waited:
	case p.Outcome == client.OutcomeApprove:
		c.note(e, "answered"+by(p.Actor)+because(reason), false)
	case item != nil && p.Outcome == client.OutcomeReject:
		item.Tool.State, item.Tool.Reason = Rejected, reason
	case p.Outcome == client.OutcomeReject:
		c.note(e, "rejected"+by(p.Actor)+because(reason), false)
	default:
		if item != nil {
			item.Tool.State = Stopped
		}
		c.note(e, "the question expired"+because(reason), true)
	}
}

func (c *Conversation) itemOf(key string) *Item {
	if key == "" {
		return nil
	}
	return c.tools[key]
}

func by(actor string) string {
	if actor = plain.CleanLine(actor); actor != "" {
		return " by " + actor
	}
	return ""
}

// ended closes a turn. A queued input that was cancelled has only this event.
func (c *Conversation) ended(e client.Event, p client.Payload) {
	c.Changes++
	c.dequeue(e.RunID)
	if !c.known[e.RunID] && p.Cancelled {
		c.known[e.RunID], c.over[e.RunID] = true, true
		c.note(e, "a waiting prompt was cancelled", false)
		return
	}
	r := c.active(e)
	if r == nil {
		return
	}
	r.Ended = e.Timestamp
	r.In, r.Out = cmp.Or(p.TokensIn, r.In), cmp.Or(p.TokensOut, r.Out)
	r.CostMicros = cmp.Or(p.CostMicros, r.CostMicros)
	r.Cancelled, r.Failed = p.Cancelled, e.Type == "run.failed" && !p.Cancelled
	c.stopOpen(e.RunID)
	if text := plain.Clean(p.Text); !r.answered && strings.TrimSpace(text) != "" {
		c.add(e, Answer, text).Key += " answer"
	}
	end := c.add(e, End, plain.Clean(p.Message))
	end.Turn, end.Grim = r, r.Failed
	if p.Terminal {
		c.Session.Terminal = plain.CleanLine(p.Message)
	}
	c.Run, c.Last, c.over[r.ID] = nil, r, true
}

// stopOpen settles what of a run is still open when it ends.
func (c *Conversation) stopOpen(run string) {
	c.Asks = slices.DeleteFunc(c.Asks, func(a Ask) bool { return a.Run == run })
	for _, item := range c.Items {
		if item.Run == run && item.Tool != nil && item.Tool.Open() {
			item.Tool.State = Stopped
			item.Version++
		}
	}
}

func (c *Conversation) updated(e client.Event, p client.Payload) {
	c.Changes++
	was := c.status
	c.status = p.Status
	c.Session.Status, c.Session.PauseReason = p.Status, plain.CleanLine(p.PauseReason)
	message := plain.CleanLine(p.Message)
	switch p.Status {
	case client.SessionPaused:
		c.Session.PausePending = false
		c.note(e, "paused"+because(strings.ReplaceAll(c.Session.PauseReason, "_", " ")), false)
	case client.SessionReady:
		if was == client.SessionPaused {
			c.note(e, "goes on", false)
		}
	case client.SessionUpdating:
		c.Session.Terminal = ""
		c.note(e, cmp.Or(message, "is being restored"), false)
	case client.SessionFailed:
		c.Session.Message = message
		c.note(e, "the session failed: "+cmp.Or(message, "no reason was given"), true)
	case client.SessionDestroying:
		c.note(e, "the session is being removed", true)
	}
}
