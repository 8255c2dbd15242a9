package client

import (
	"context"
	"net/http"
	"strconv"

	"paddock/client/gen"
)

// CreateOptions are the choices about a session that are no part of its spec.
type CreateOptions struct {
	ResumeOnTopoff bool // resume by itself after a pause for zero balance
}

// CreateSession starts a session from a spec (YAML text) and returns once it
// exists; it boots on. A call whose answer is lost is repeated, and makes one
// session. Its Warnings say what of the spec does not hold.
func (c *Client) CreateSession(ctx context.Context, spec []byte, options CreateOptions) (Session, error) {
	query := values()
	if options.ResumeOnTopoff {
		query.Set("resume_on_topoff", "true")
	}
	if spec == nil {
		spec = []byte{}
	}
	answer, err := doOnce[gen.SessionAnswer](ctx, c, call{
		method: http.MethodPost, path: []string{"sessions"}, query: query,
		headers: map[string]string{"Content-Type": "application/yaml"}, raw: spec,
	})
	return answer.Session, err
}

// ListOptions choose sessions; the zero value chooses those that hold a slot
// and those being removed.
type ListOptions struct {
	Status string // one of the Session constants
	Name   string // exact, upper and lower case alike
	Search string // a part of the name or of the id
	Parent string // id; only forks of this session
	// Environment is the id or name of one; only sessions that were made from it.
	Environment string
	PageSize    int    // 0: 50; at most 200
	PageToken   string // the NextPageToken of the page before
}

// Sessions lists sessions, newest first, one page at a time.
func (c *Client) Sessions(ctx context.Context, options ListOptions) (SessionList, error) {
	path := []string{"sessions"}
	if options.Environment != "" {
		path = []string{"configs", options.Environment, "sessions"}
	}
	return do[SessionList](ctx, c, call{
		method: http.MethodGet, path: path,
		query: values("status", options.Status, "name", options.Name, "search", options.Search,
			"parent_session_id", options.Parent, "page_size", positive(options.PageSize), "page_token", options.PageToken),
	})
}

// SandboxStats says what the sandboxes of sessions use, one page at a time.
func (c *Client) SandboxStats(ctx context.Context, pageSize int, pageToken string) (SandboxStatsList, error) {
	return do[SandboxStatsList](ctx, c, call{
		method: http.MethodGet, path: []string{"sessions", "sandbox", "stats"},
		query: values("page_size", positive(pageSize), "page_token", pageToken),
	})
}

// Session gives one session.
func (c *Client) Session(ctx context.Context, ref string) (Session, error) {
	answer, err := do[gen.SessionAnswer](ctx, c, call{method: http.MethodGet, path: []string{"sessions", ref}})
	return answer.Session, err
}

// SetResumeOnTopoff changes whether a session resumes by itself after a pause
// for zero balance.
func (c *Client) SetResumeOnTopoff(ctx context.Context, ref string, on bool) (Session, error) {
	answer, err := do[gen.SessionAnswer](ctx, c, call{
		method: http.MethodPatch, path: []string{"sessions", ref}, body: gen.UpdateSession{ResumeOnTopoff: &on},
	})
	return answer.Session, err
}

// RemoveSession begins to remove a session; again is no error.
func (c *Client) RemoveSession(ctx context.Context, ref string) error {
	_, err := do[struct{}](ctx, c, call{method: http.MethodDelete, path: []string{"sessions", ref}})
	return err
}

// Pause freezes a session. With pending a run is working, and the pause happens
// when it has ended.
func (c *Client) Pause(ctx context.Context, ref string) (pending bool, err error) {
	answer, err := do[gen.PausePending](ctx, c, call{
		method: http.MethodPost, path: []string{"sessions", ref, "pause"}, body: gen.PauseRequest{},
	})
	return answer.Pending, err
}

// Resume lets a paused session go on and returns when its sandbox runs.
func (c *Client) Resume(ctx context.Context, ref string) error {
	_, err := do[struct{}](ctx, c, call{
		method: http.MethodPost, path: []string{"sessions", ref, "resume"}, body: struct{}{},
	})
	return err
}

// positive writes a number, and nothing for what is not above zero.
func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
