package cli

import (
	"context"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
)

// dial makes a client of the server that flags, environment or this machine
// name; nothing is sent yet.
func (a *app) dial(cmd *cobra.Command) (*client.Client, error) {
	t, err := a.target()
	if err != nil {
		return nil, err
	}
	c, err := a.client(t)
	if err != nil {
		return nil, usagef(cmd, "%v (from %s)", err, t.urlFrom)
	}
	a.server, a.dialled = t, c
	return c, nil
}

func (a *app) client(t target) (*client.Client, error) {
	return client.New(t.URL, t.Token, client.Options{UserAgent: "paddock-cli/" + a.hooks.Version})
}

// local says whether a URL's server runs on this machine.
func local(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}

// await asks for a session until it is as wanted and returns it. The server
// ends every state that waits, so this ends, too.
func await(ctx context.Context, c *client.Client, ref string, wanted func(client.Session) bool) (client.Session, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := c.Session(ctx, ref)
		if err != nil || wanted(s) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-tick.C:
		}
	}
}
