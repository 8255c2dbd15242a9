package codex

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"paddock/internal/event"
)

// words are the kinds of error that Codex tells with a turn's end, those that
// are the model's. What is none of them is an error of the agent's own, unless
// its text says otherwise.
var words = map[string]event.FailureCode{
	"contextWindowExceeded": event.ModelError, "sessionBudgetExceeded": event.ModelError, "usageLimitExceeded": event.ModelError,
	"rateLimitExceeded": event.ModelError, "flexUnavailable": event.ModelError, "serverOverloaded": event.ModelError,
	"modelNotFound": event.ModelError, "policyCapacityUnavailable": event.ModelError, "cyberPolicy": event.ModelError,
	"bioPolicy": event.ModelError, "misalignmentPolicyViolation": event.ModelError, "internalServerError": event.ModelError,
	"unauthorized": event.ModelError, "badRequest": event.ModelError, "httpConnectionFailed": event.ModelError,
	"responseStreamConnectionFailed": event.ModelError, "responseStreamDisconnected": event.ModelError,
	"responseTooManyFailedAttempts": event.ModelError,
}

// What texts say of errors that have no kind. (Compiled at the first failure: the
// guest is started with every sandbox.)
var (
	late  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\btimed? ?out\b|\btimeout\b`) })
	model = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)stream disconnected|unexpected status|retry limit|last status|rate.?limit|quota|api[ _]key|unauthori[sz]ed|` +
			`OPENAI_API_KEY|invalid_request_error|error sending request|connection (failed|refused|reset)|context (length|window)|overloaded|billing`)
	})
)

// classify gives the failure code of a turn's error, and its text for people.
func classify(e *turnError) (event.FailureCode, string) {
	if e == nil {
		return event.ToolError, "the agent ended the turn as failed and did not say why"
	}
	text := said(e.Message)
	if e.Details != "" && !strings.Contains(text, e.Details) {
		text += ": " + e.Details
	}
	var word string
	var of map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if json.Unmarshal(e.Info, &word) != nil && json.Unmarshal(e.Info, &of) == nil {
		for kind, at := range of {
			word = kind
			if at.Status == 408 || at.Status == 504 {
				return event.ModelTimeout, text
			}
		}
	}
	code, known := words[word]
	switch {
	case (known || word == "other" || word == "") && late().MatchString(text):
		return event.ModelTimeout, text
	case known:
		return code, text
	case model().MatchString(text):
		return event.ModelError, text
	}
	return event.ToolError, text
}

// said takes the sentence out of an error that is the server's answer as it came.
func said(message string) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(message), &body) != nil || body.Error.Message == "" {
		return strings.TrimSpace(message)
	}
	if body.Error.Type == "" {
		return "the model's server says: " + body.Error.Message
	}
	return "the model's server says: " + body.Error.Message + " (" + body.Error.Type + ")"
}
