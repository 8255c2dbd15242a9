package claude

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest/adapter/program"
	"paddock/internal/guestapi"
)

var (
	errCancelled = errors.New("the turn was cancelled before it began")
)

// conclude reads how the agent says the turn ended.
func (t *turn) conclude(r result) guestapi.End {
	t.Lock()
	cancelled, refused := t.Cancelled, t.refused
	t.Unlock()
	switch {
	case r.IsError && cancelled:
		return guestapi.End{Outcome: guestapi.EndCancelled, Text: t.say.answer()}
	case r.IsError && refused != "":
		return program.Failed(event.ModelError, refused)
	case r.IsError:
		return program.Failed(classify(r), r.complaint())
	}
	return guestapi.End{Outcome: guestapi.EndCompleted, StopReason: r.StopReason, Text: cmp.Or(r.Result, t.say.answer())}
}

// classify gives the failure code of a turn that ended with an error.
func classify(r result) event.FailureCode {
	switch kind := strings.ToLower(r.APIErrorKind); {
	case r.APIErrorStatus != nil && (*r.APIErrorStatus == http.StatusRequestTimeout || *r.APIErrorStatus == http.StatusGatewayTimeout):
		return event.ModelTimeout
	case strings.Contains(kind, "timeout"), strings.Contains(kind, "timed_out"):
		return event.ModelTimeout
	case r.APIErrorStatus != nil, kind != "", modelReasons[r.TerminalReason]:
		return event.ModelError
	}
	return event.ToolError
}

// modelReasons are the words by which a turn ended for its model's sake.
var modelReasons = map[string]bool{"api_error": true, "model_error": true, "blocking_limit": true, "prompt_too_long": true, "image_error": true}

// complaint is what the agent says went wrong. Some of its errors are notes for
// its makers.
func (r result) complaint() string {
	text := []string{r.Result}
	for _, e := range r.Errors {
		if !strings.HasPrefix(e, "[ede_diagnostic]") {
			text = append(text, e)
		}
	}
	s := strings.TrimSpace(strings.Join(text, "\n"))
	switch {
	case strings.HasPrefix(s, "Not logged in"):
		return "the agent has no key for its model: give the session one, such as ANTHROPIC_API_KEY (the agent said: " + s + ")"
	case s != "":
		return s
	}
	return fmt.Sprintf("the agent ended the turn with an error (%s)", cmp.Or(r.TerminalReason, "it says no more"))
}
