package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/clientcontext"
)

// TestExitCodes holds every kind of error against the code that
// `paddock exit-codes` documents for it.
func TestExitCodes(t *testing.T) {
	said := func(code string) error { return fmt.Errorf("show: %w", &client.Error{Code: code, Message: "no"}) }
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"done":              {nil, 0},
		"failed":            {errors.New("disk full"), 1},
		"bad request":       {said("bad_request"), 1},
		"unauthorized":      {said("unauthorized"), 1},
		"forbidden":         {said("forbidden"), 1},
		"wrong method":      {said("method_not_allowed"), 1},
		"too large":         {said("too_large"), 1},
		"media type":        {said("unsupported_media_type"), 1},
		"unprocessable":     {said("unprocessable"), 1},
		"internal":          {said("internal"), 1},
		"not supported":     {said("not_supported"), 1},
		"bad gateway":       {said("bad_gateway"), 1},
		"no space":          {said("no_space"), 1},
		"of tomorrow":       {said("teapot"), 1},
		"usage":             {usagef(&cobra.Command{Use: "x"}, "no"), 2},
		"not found":         {said("not_found"), 3},
		"conflict":          {said("conflict"), 4},
		"too many requests": {said("too_many_requests"), 4},
		"payment":           {said("payment_required"), 5},
		"unavailable":       {said("unavailable"), 6},
		"no server":         {&url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, 6},
		"connection broke":  {&url.Error{Op: "Get", Err: io.ErrUnexpectedEOF}, 6},
		"deadline":          {fmt.Errorf("x: %w", context.DeadlineExceeded), 124},
		"deadline of http":  {&url.Error{Op: "Get", Err: context.DeadlineExceeded}, 124},
		"interrupt":         {errInterrupted, 130},
		"of the command":    {silently(42), 42},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			a := &app{err: &b, getenv: func(string) string { return "" }}
			if got := a.finish(c.err); got != c.code {
				t.Errorf("%v exits with %d, want %d", c.err, got, c.code)
			}
			for word := range strings.FieldsSeq(exitCodes) { // what is used is documented
				if word == fmt.Sprint(c.code) {
					return
				}
			}
			if c.code != 42 {
				t.Errorf("code %d is not documented", c.code)
			}
		})
	}
	// Whatever a server of tomorrow adds, exec keeps its own failures apart.
	a := &app{err: io.Discard}
	for code, want := range map[string]int{"not_found": 255, "conflict": 255, "unavailable": 255} {
		if got := a.finish(own(a, said(code))); got != want {
			t.Errorf("exec exits with %d for %s, want %d", got, code, want)
		}
	}
}

// TestNextSteps: an error names what to do, and where a wrong value came from.
func TestNextSteps(t *testing.T) {
	refused := &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}
	for name, c := range map[string]struct {
		url, token string
		err        error
		want       string
	}{
		"none here":      {"http://127.0.0.1:7723", "", refused, "no server answers at http://127.0.0.1:7723 (from --url); start one with 'paddock serve', or"},
		"none there":     {"https://paddock.example", "", refused, "no server answers at https://paddock.example (from --url); look whether it runs there"},
		"no token":       {"http://x", "", &client.Error{Code: "unauthorized", Message: "no token"}, "no token; 'paddock login' takes one, or set PADDOCK_TOKEN"},
		"wrong token":    {"http://x", "t", &client.Error{Code: "unauthorized", Message: "unknown token"}, "unknown token (it is from a file); 'paddock login' takes another"},
		"several faults": {"http://x", "t", &client.Error{Code: "bad_request", Message: "a\nb"}, "there is more than one thing wrong:\n  a\n  b"},
		"not a session":  {"http://x", "t", &client.Error{Code: "not_found", Message: "there is no run r"}, "there is no run r"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &app{server: target{Context: clientcontext.Context{URL: c.url, Token: c.token}, urlFrom: "--url", tokenFrom: "a file"}}
			if got := a.explain(c.err).text; !strings.HasPrefix(got, c.want) {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// TestNoConversation: where nothing was asked, nothing "may or may not have
// happened".
func TestNoConversation(t *testing.T) {
	plain, secure := httptest.NewServer(http.NotFoundHandler()), httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake fails, as it shall
	secure.StartTLS()
	defer plain.Close()
	defer secure.Close()
	for address, want := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1): "speaks http, not https; change its URL",
		secure.URL: "is not trusted here: ",
	} {
		a := &app{server: target{Context: clientcontext.Context{URL: address}, urlFrom: "--url"}}
		c, err := client.New(address, "secret", client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Health(t.Context())
		if got := a.explain(err); got.code != exitUnreachable || !strings.Contains(got.text, want) || strings.Contains(got.text, "may or may not") {
			t.Errorf("%s: %d %q", address, got.code, got.text)
		}
	}
}
