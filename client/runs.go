package client

import (
	"context"
	"net/http"

	"paddock/client/gen"
)

// Input says something to the agent and returns the id of the run that answers
// it; the run may be queued behind the active one. A call whose answer is lost
// is repeated, and makes one run.
func (c *Client) Input(ctx context.Context, ref, text string) (run string, err error) {
	answer, err := doOnce[gen.InputAnswer](ctx, c, call{
		method: http.MethodPost, path: []string{"sessions", ref, "input"}, body: gen.InputRequest{Text: text},
	})
	return answer.RunID, err
}

// InputOnce is Input under a key of the caller's (1 to 255 printable ASCII
// characters): when the answer was lost, the same call again within 24 hours
// gives it and says nothing twice.
func (c *Client) InputOnce(ctx context.Context, ref, key, text string) (run string, err error) {
	answer, err := do[gen.InputAnswer](ctx, c, call{
		method: http.MethodPost, path: []string{"sessions", ref, "input"}, body: gen.InputRequest{Text: text},
		headers: map[string]string{"Idempotency-Key": key},
	})
	return answer.RunID, err
}

// Cancel ends a run, or the active one when run is empty.
func (c *Client) Cancel(ctx context.Context, ref, run string) (CancelAnswer, error) {
	return do[CancelAnswer](ctx, c, call{
		method: http.MethodPost, path: []string{"sessions", ref, "cancel"}, body: gen.CancelRequest{RunID: run},
	})
}

// Answer settles an approval. The same answer again is no error, another one is
// a conflict.
func (c *Client) Answer(ctx context.Context, ref, approval string, answer AnswerRequest) error {
	_, err := do[struct{}](ctx, c, call{
		method: http.MethodPost, path: []string{"sessions", ref, "hitl", approval}, body: answer,
	})
	return err
}

// Approvals lists what waits for a person, oldest first; with all, also what is
// settled.
func (c *Client) Approvals(ctx context.Context, ref string, all bool) ([]Approval, error) {
	state := "pending"
	if all {
		state = "all"
	}
	answer, err := do[gen.ApprovalList](ctx, c, call{
		method: http.MethodGet, path: []string{"sessions", ref, "approvals"}, query: values("state", state),
	})
	return answer.Approvals, err
}

// TeamApprovals lists what waits for a person in all sessions, oldest first, one
// page at a time; with all, also what is settled.
func (c *Client) TeamApprovals(ctx context.Context, all bool, pageSize int, pageToken string) (TeamApprovalList, error) {
	state := "pending"
	if all {
		state = "all"
	}
	return do[TeamApprovalList](ctx, c, call{
		method: http.MethodGet, path: []string{"approvals"},
		query: values("state", state, "page_size", positive(pageSize), "page_token", pageToken),
	})
}

// Grants lists what holds for the rest of a session, oldest first.
func (c *Client) Grants(ctx context.Context, ref string) ([]Grant, error) {
	answer, err := do[gen.GrantList](ctx, c, call{method: http.MethodGet, path: []string{"sessions", ref, "grants"}})
	return answer.Grants, err
}

// RevokeGrant has the same asked again; again is no error.
func (c *Client) RevokeGrant(ctx context.Context, ref, grant string) error {
	_, err := do[struct{}](ctx, c, call{method: http.MethodDelete, path: []string{"sessions", ref, "grants", grant}})
	return err
}

// Runs lists a session's runs, newest first, one page at a time.
func (c *Client) Runs(ctx context.Context, ref string, pageSize int, pageToken string) (RunList, error) {
	return do[RunList](ctx, c, call{
		method: http.MethodGet, path: []string{"sessions", ref, "runs"},
		query: values("page_size", positive(pageSize), "page_token", pageToken),
	})
}

// Run gives one run.
func (c *Client) Run(ctx context.Context, ref, run string) (Run, error) {
	answer, err := do[gen.RunAnswer](ctx, c, call{method: http.MethodGet, path: []string{"sessions", ref, "runs", run}})
	return answer.Run, err
}
