package client

import (
	"context"
	"net/http"

	"paddock/client/gen"
)

// Health asks whether the server serves calls; it needs no token.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return do[Health](ctx, c, call{method: http.MethodGet, root: true, path: []string{"healthz"}})
}

// Ready asks whether sessions can be started; it needs no token.
func (c *Client) Ready(ctx context.Context) (Health, error) {
	return do[Health](ctx, c, call{method: http.MethodGet, root: true, path: []string{"readyz"}})
}

// Agents lists the agents that are known by name, with what is installed of each.
func (c *Client) Agents(ctx context.Context) (AgentList, error) {
	return do[AgentList](ctx, c, call{method: http.MethodGet, path: []string{"agents"}})
}

// RemoveAgent takes an installed version of an agent away. It is a conflict while
// a living session uses it.
func (c *Client) RemoveAgent(ctx context.Context, name, version string) error {
	_, err := do[struct{}](ctx, c, call{method: http.MethodDelete, path: []string{"agents", name, "versions", version}})
	return err
}

// Sizes lists the sizes of sandboxes, smallest first.
func (c *Client) Sizes(ctx context.Context) ([]Size, error) {
	answer, err := do[gen.SizeList](ctx, c, call{method: http.MethodGet, path: []string{"sessions", "sandbox", "sizes"}})
	return answer.Sizes, err
}

// ValidatePolicy says how well a spec's agent keeps its permission rules.
func (c *Client) ValidatePolicy(ctx context.Context, spec []byte) (PolicyValidation, error) {
	if spec == nil {
		spec = []byte{}
	}
	return do[PolicyValidation](ctx, c, call{
		method: http.MethodPost, path: []string{"sessions", "policy", "validate"},
		headers: map[string]string{"Content-Type": "application/yaml"}, raw: spec,
	})
}
