package engine

import (
	"context"
	"fmt"
	"strings"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/id"
)

// maxGrants is how many grants of one session may hold at once: each question is
// held against all of them.
const maxGrants = 200

// grant makes what a person approves for the rest of the session a grant.
func (e *Engine) grant(c *change, a approval.Approval) (id.Grant, error) {
	match, ok := approval.MatchOf(a.Asked)
	if !ok {
		return id.Grant{}, fault.New(fault.Unprocessable, "%s says too little of what it would do to be approved for the rest of the session; approve it once", a.ID)
	}
	held, err := c.tx.Grants(c.ctx, c.s.ID)
	if err != nil {
		return id.Grant{}, err
	}
	if len(held) >= maxGrants {
		return id.Grant{}, fault.New(fault.Unprocessable, "session %s has %d grants already; revoke some, or approve once", c.s.Name, len(held))
	}
	g := approval.Grant{
		ID: id.New[id.Grant](), Session: c.s.ID, Approval: a.ID, Match: match, Actor: a.Actor, Reason: a.Reason, At: c.now,
	}
	return g.ID, c.tx.SaveGrant(g)
}

// decideByGrant approves what a person has approved for the rest of the session.
// Nobody is asked, so the history has no question and no answer: like what a rule
// decides, it is told in words, which name the grant. The agent is told that this
// once is allowed, as ever.
func (e *Engine) decideByGrant(c *change, a approval.Approval) (decided bool, err error) {
	grants, err := c.tx.Grants(c.ctx, c.s.ID)
	if err != nil {
		return false, err
	}
	for _, g := range grants {
		if !g.Covers(a.Asked) {
			continue
		}
		a.State, a.EndedAt, a.Grant = approval.Approved, c.now, g.ID
		a.Actor, a.Reason = actorGrant, fmt.Sprintf("%s approved it for the rest of the session", g.Actor)
		c.emit(a.Run, event.RunLog, allowedBy(g, a))
		c.later(func() { e.sendAnswer(a, nil) })
		return true, c.tx.SaveApproval(a)
	}
	return false, nil
}

// allowedBy tells what a grant allowed, and by whose word.
func allowedBy(g approval.Grant, a approval.Approval) event.Log {
	tool, detail := a.Asked.Details.Tool, a.Asked.Details.Gist()
	what := strings.TrimSpace(tool + " " + shorten(detail))
	fields := map[string]any{"grant_id": g.ID.String(), "tool": tool, "detail": detail}
	if a.Asked.ToolCallID != "" {
		fields["tool_call_id"] = a.Asked.ToolCallID
	}
	return event.Log{Level: "info", Message: fmt.Sprintf("allowed by %s: %s; %s", g.ID, what, a.Reason), Fields: fields}
}

// Grants lists what holds for the rest of a session, oldest first.
func (e *Engine) Grants(ctx context.Context, team id.Team, ref string) ([]approval.Grant, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return nil, err
	}
	list, err := e.store.Grants(ctx, s.ID)
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	return list, nil
}

// RevokeGrant ends a grant: the same is asked again from now on. Again is no
// error. What was allowed before goes on.
func (e *Engine) RevokeGrant(ctx context.Context, team id.Team, ref, grant, actor string) error {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return err
	}
	gid, err := id.Parse[id.Grant](grant)
	if err != nil {
		return fault.New(fault.NotFound, "session %s has no grant %s", s.Name, grant)
	}
	return e.change(ctx, s.ID, func(c *change) error {
		g, err := c.tx.Grant(ctx, s.ID, gid)
		if err != nil {
			return absent(err, "session %s has no grant %s", s.Name, grant)
		}
		if !g.RevokedAt.IsZero() {
			return errNoChange
		}
		g.RevokedAt, g.RevokedBy = c.now, actor
		c.emit(id.Run{}, event.RunLog, event.Log{
			Level: "info", Message: fmt.Sprintf("%s revoked a grant: %s is asked for again", actor, g.Match.Tool),
			Fields: map[string]any{"grant_id": g.ID.String()},
		})
		return c.tx.SaveGrant(g)
	})
}
