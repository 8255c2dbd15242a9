package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"paddock/internal/approval"
	"paddock/internal/id"
	"paddock/internal/redaction"
	"paddock/internal/store"
)

// Approvals lists what people were asked in a session, oldest first; only what
// still waits when pending is set.
func (e *Engine) Approvals(ctx context.Context, team id.Team, ref string, pending bool) ([]approval.Approval, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return nil, err
	}
	list, err := e.store.Approvals(ctx, s.ID, pending)
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", err)
	}
	veil, err := e.veil(ctx, e.store, s.Environment)
	for i := range list {
		hideAnswer(&list[i], veil)
	}
	return slices.DeleteFunc(list, func(a approval.Approval) bool { return !a.OfPeople() }), err
}

// hideAnswer hides the values of secrets in what a person has answered. The agent
// is told it as it is, again should it ask again.
func hideAnswer(a *approval.Approval, veil *redaction.Veil) {
	a.Reason = veil.Text(a.Reason)
	if a.Input != nil {
		a.Input = veil.JSON(a.Input)
	}
}

// TeamApproval is an approval with the name of its session.
type TeamApproval struct {
	approval.Approval
	SessionName string
}

// TeamApprovals lists what people were asked in all sessions of a team, oldest first, and
// gives the token of the next page, empty at the end.
func (e *Engine) TeamApprovals(ctx context.Context, team id.Team, pending bool, size int, token string) ([]TeamApproval, string, error) {
	filter := store.ApprovalFilter{Team: team, Open: pending, Limit: pageSize(size) + 1}
	pages := pagesOf("approvals", team, pending)
	if token != "" {
		last, err := pages.last(token)
		if err != nil {
			return nil, "", err
		}
		if filter.After, err = id.Parse[id.Approval](last); err != nil {
			return nil, "", badPageToken(token)
		}
	}
	found, err := e.store.TeamApprovals(ctx, filter)
	if errors.Is(err, store.ErrNotFound) {
		return nil, "", badPageToken(token)
	}
	if err != nil {
		return nil, "", fmt.Errorf("list approvals: %w", err)
	}
	next := ""
	if n := filter.Limit - 1; len(found) > n {
		found = found[:n]
		next = pages.token(found[n-1].ID)
	}
	list, err := e.named(ctx, found)
	return list, next, err
}

// named adds the names of the sessions, each read once, and hides their secrets.
func (e *Engine) named(ctx context.Context, found []approval.Approval) ([]TeamApproval, error) {
	names, hidden := map[id.Session]string{}, map[id.Session]*redaction.Veil{}
	list := make([]TeamApproval, 0, len(found))
	for _, a := range found {
		if _, known := names[a.Session]; !known {
			s, err := e.store.SessionByID(ctx, a.Session)
			if err != nil {
				return nil, fmt.Errorf("read session: %w", err)
			}
			names[a.Session] = s.Name
			if hidden[a.Session], err = e.veil(ctx, e.store, s.Environment); err != nil {
				return nil, err
			}
		}
		hideAnswer(&a, hidden[a.Session])
		list = append(list, TeamApproval{a, names[a.Session]})
	}
	return list, nil
}
