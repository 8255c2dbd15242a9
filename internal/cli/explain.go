package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"paddock/client"
	"paddock/internal/spelling"
)

// explain gives an error of a call its exit code and says what to do next.
func (a *app) explain(err error) *exitError {
	text, code := err.Error(), exitFailed
	var said *client.Error
	var lost *url.Error
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &said):
		code, text = codeOf(said.Code), listed(said.Message)+a.nextStep(said)
	case timedOut(err):
		code, text = exitTimedOut, "timed out"
	case errors.Is(err, http.ErrSchemeMismatch):
		code, text = exitUnreachable, "the server at "+a.server.URL+" (from "+a.server.urlFrom+") speaks http, not https; change its URL"
	case errors.As(err, &certificate):
		code, text = exitUnreachable, "the certificate of "+a.server.URL+" is not trusted here: "+certificate.Err.Error()
	case errors.As(err, &lost) && errors.As(err, &op) && op.Op == "dial":
		code, text = exitUnreachable, "no server answers at "+a.server.URL+" (from "+a.server.urlFrom+"); "+a.howToReach()
	case errors.As(err, &lost):
		code = exitUnreachable
		text = "the connection to " + a.server.URL + " broke (" + lost.Err.Error() + "); what was asked may or may not have happened"
	}
	return &exitError{code: code, text: text, err: err}
}

func (a *app) howToReach() string {
	if local(a.server.URL) {
		return "start one with 'paddock serve', or name another with --url or PADDOCK_URL"
	}
	return "look whether it runs there, or name another with --url or PADDOCK_URL"
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

// nextStep is what to do about a refusal whose sentence does not say it.
func (a *app) nextStep(e *client.Error) string {
	ref, missing := strings.CutPrefix(e.Message, "there is no session ")
	switch {
	case e.Code == "not_found" && missing:
		if name := a.nearestSession(ref); name != "" {
			return "; did you mean '" + name + "'? 'paddock list' shows the sessions there are"
		}
		return "; 'paddock list' shows the sessions there are, 'paddock list --all' also those that ended"
	case e.Code == "unauthorized" && a.server.Token == "":
		return "; 'paddock login' takes one, or set PADDOCK_TOKEN"
	case e.Code == "unauthorized":
		return " (it is from " + a.server.tokenFrom + "); 'paddock login' takes another, or set PADDOCK_TOKEN"
	default:
		return ""
	}
}

// nearestSession is the live session whose name somebody probably meant; empty
// when there is none, or the server is slow to say.
func (a *app) nearestSession(ref string) string {
	if a.dialled == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	page, err := a.dialled.Sessions(ctx, client.ListOptions{PageSize: 200})
	if err != nil {
		return ""
	}
	names := make([]string, len(page.Sessions))
	for i, s := range page.Sessions {
		names[i] = s.Name
	}
	return spelling.Nearest(ref, names)
}
