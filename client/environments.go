package client

import (
	"context"
	"net/http"

	"paddock/client/gen"
)

// CreateEnvironment stores a spec (YAML text) under a name. One of that name that
// means the same is given back instead. Its Warnings say what of the spec does
// not hold.
func (c *Client) CreateEnvironment(ctx context.Context, name string, spec []byte) (Environment, error) {
	answer, err := doOnce[gen.EnvironmentAnswer](ctx, c, call{
		method: http.MethodPost, path: []string{"configs"}, body: gen.CreateEnvironment{Name: name, ManifestYAML: string(spec)},
	})
	return answer.Config, err
}

// Environment gives one environment, by id or name.
func (c *Client) Environment(ctx context.Context, ref string) (Environment, error) {
	answer, err := do[gen.EnvironmentAnswer](ctx, c, call{method: http.MethodGet, path: []string{"configs", ref}})
	return answer.Config, err
}

// Environments lists environments, newest first, one page at a time.
func (c *Client) Environments(ctx context.Context, pageSize int, pageToken string) (EnvironmentList, error) {
	return do[EnvironmentList](ctx, c, call{
		method: http.MethodGet, path: []string{"configs"}, query: values("page_size", positive(pageSize), "page_token", pageToken),
	})
}

// RemoveEnvironment takes an environment off the list. It is a conflict while a
// session that was made from it is not over.
func (c *Client) RemoveEnvironment(ctx context.Context, ref string) error {
	_, err := do[struct{}](ctx, c, call{method: http.MethodDelete, path: []string{"configs", ref}})
	return err
}

// CreateSessionFrom starts a session of this name from an environment, by its id
// or name; else it is CreateSession.
func (c *Client) CreateSessionFrom(ctx context.Context, environment, name string, options CreateOptions) (Session, error) {
	answer, err := doOnce[gen.SessionAnswer](ctx, c, call{
		method: http.MethodPost, path: []string{"sessions"},
		body: gen.CreateFromEnvironment{ConfigID: environment, Name: name, ResumeOnTopoff: options.ResumeOnTopoff},
	})
	return answer.Session, err
}
