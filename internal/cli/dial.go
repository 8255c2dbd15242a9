package cli

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
)

// dial makes a client of the server that flags, environment or this machine
// name; nothing is sent yet.
func (a *app) dial(cmd *cobra.Command) (*client.Client, error) {
	where, err := a.context()
	if err != nil {
		return nil, err
	}
	c, err := client.New(where.URL, where.Token, client.Options{UserAgent: "paddock-cli/" + a.hooks.Version})
	if err != nil {
		return nil, usagef(cmd, "%v", err)
	}
	a.server = where.URL
	return c, nil
}

// explain gives an error of a call its exit code and says what to do next.
func (a *app) explain(err error) *exitError {
	text, code := err.Error(), exitFailed
	var said *client.Error
	var lost *url.Error
	var op *net.OpError
	switch {
	case errors.As(err, &said):
		code, text = codeOf(said.Code), listed(said.Message)+nextStep(said)
	case timedOut(err):
		code, text = exitTimedOut, "timed out"
	case errors.As(err, &lost) && errors.As(err, &op) && op.Op == "dial":
		code = exitUnreachable
		text = "no server answers at " + a.server + "; start one with 'paddock serve', or name another with --url or PADDOCK_URL"
	case errors.As(err, &lost):
		code = exitUnreachable
		text = "the connection to " + a.server + " broke (" + lost.Err.Error() + "); what was asked may or may not have happened"
	}
	return &exitError{code: code, text: text, err: err}
}

// codeOf is the one place where the API's codes become exit codes.
func codeOf(code string) int {
	switch code {
	case "not_found":
		return exitNotFound
	case "conflict", "too_many_requests":
		return exitConflict
	case "payment_required":
		return exitPayment
	case "unavailable":
		return exitUnreachable
	default:
		return exitFailed
	}
}

// listed sets several faults of a spec apart, one a line.
func listed(message string) string {
	if !strings.Contains(message, "\n") {
		return message
	}
	return "there is more than one thing wrong:\n  " + strings.ReplaceAll(message, "\n", "\n  ")
}

func nextStep(e *client.Error) string {
	switch {
	case e.Code == "not_found" && strings.HasPrefix(e.Message, "there is no session "):
		return "; 'paddock list --all' shows the sessions there are"
	case e.Code == "unauthorized":
		return "; set PADDOCK_TOKEN, or name a file with --token-file or --context"
	default:
		return ""
	}
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
