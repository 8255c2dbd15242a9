package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

// Waiting gives the questions that wait for a person and stand at seq upTo or
// before it, in order.
func (f *Feed) Waiting(ctx context.Context, upTo int64, raw bool) ([]event.Event, error) {
	open, err := f.engine.store.Approvals(ctx, f.session, true)
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	return f.engine.requests(ctx, open, raw, func(v event.Event) bool { return v.Seq <= upTo })
}

// Waiting gives the questions that wait for a person in any session of the team
// and stand at a place or before it, in order.
func (f *TeamFeed) Waiting(ctx context.Context, upTo int64, raw bool) ([]event.Event, error) {
	open, err := f.engine.store.TeamApprovals(ctx, store.ApprovalFilter{Team: f.team, Open: true, Limit: maxWaiting})
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	return f.engine.requests(ctx, open, raw, func(v event.Event) bool { return v.Place <= upTo })
}

// maxWaiting is how many questions a stream of all sessions begins with at most,
// the oldest; the list of approvals has them all.
const maxWaiting = 200

// requests gives the events that asked these approvals, in order, those that
// keep wants.
func (e *Engine) requests(ctx context.Context, open []approval.Approval, raw bool, keep func(event.Event) bool) ([]event.Event, error) {
	waits, runs := map[string]bool{}, map[id.Run]id.Session{}
	for _, a := range open {
		waits[a.ID.String()] = true
		runs[a.Run] = a.Session
	}
	var found []event.Event
	for run, sid := range runs {
		asked, err := e.store.Events(ctx, sid, store.EventPage{Run: run, Kinds: []event.Kind{event.HumanInputRequested}, Raw: raw})
		if err != nil {
			return nil, fmt.Errorf("read questions: %w", err)
		}
		for _, v := range asked {
			var p event.Asked
			if json.Unmarshal(v.Data, &p) == nil && waits[p.HITLID] && keep(v) {
				found = append(found, v)
			}
		}
	}
	slices.SortFunc(found, func(a, b event.Event) int { return cmp.Compare(a.Place, b.Place) })
	return found, nil
}
