package cli

import (
	"context"
	"fmt"
	"strings"

	"paddock/client"
	"paddock/internal/plain"
)

// open opens the history of a session; ref "" means that of all sessions.
func open(ctx context.Context, c *client.Client, ref string, options client.EventsOptions) (*client.EventStream, error) {
	if ref == "" {
		return c.TeamEvents(ctx, options)
	}
	return c.Events(ctx, ref, options)
}

// sessionNames are the names of sessions by their ids, as far as they are known.
type sessionNames map[string]string

// of gives a session's name, its id when the server does not know it any more.
func (n sessionNames) of(ctx context.Context, c *client.Client, id string) string {
	name, known := n[id]
	if !known {
		name = id
		if s, err := c.Session(ctx, id); err == nil {
			name = s.Name
		}
		n[id] = name
	}
	return name
}

// printEventOf is printEvent with the name of the event's session.
func (a *app) printEventOf(name string, e client.Event) error {
	line := fmt.Sprintf("%-20s  %s  %-26s  %s", name, e.Timestamp.Local().Format("15:04:05"), e.Type, gist(e))
	_, err := fmt.Fprintln(plain.Writer(a.out), plain.Line(strings.TrimRight(line, " ")))
	return err
}
