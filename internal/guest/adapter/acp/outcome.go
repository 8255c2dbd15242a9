package acp

import (
	"encoding/json"
	"regexp"
	"sync"

	"paddock/internal/event"
	"paddock/internal/guest/adapter/rpc"
)

const codeAuthRequired = -32000

// rule classes a failed turn by one mark of its error.
type rule struct {
	mark *regexp.Regexp
	code event.FailureCode
}

// Agents say in many ways that their model failed them: a kind or name in the
// error's data, an HTTP status there or as the code, or only a sentence. What
// none of these fits is an error of the agent's own.
// (Compiled at the first failure: the guest is started with every sandbox.)
var (
	kindRules = sync.OnceValue(func() []rule {
		return []rule{
			{regexp.MustCompile(`(?i)time_?out`), event.ModelTimeout},
			{regexp.MustCompile(`(?i)rate_?limit|auth|billing|quota|overloaded|server_error|invalid_request|provider|model|api_?error`), event.ModelError},
		}
	})
	textRules = sync.OnceValue(func() []rule {
		return []rule{
			{regexp.MustCompile(`(?i)\b(model|provider|upstream|api|request) (request )?timed? ?out\b`), event.ModelTimeout},
			{regexp.MustCompile(`(?i)\b(api key|unauthori[sz]ed|authenticat\w+|quota|rate.?limit\w*|too many requests|overloaded|billing|insufficient (credit|balance|funds)|model not found|context length)\b`), event.ModelError},
		}
	})
)

// classify gives the failure code of an agent's error.
func classify(e *rpc.Error) event.FailureCode {
	if e.Code == codeAuthRequired {
		return event.ModelError
	}
	data := asObject(e.Data)
	for _, key := range []string{"errorKind", "errorName", "error_kind", "type"} {
		if code, ok := match(kindRules(), asString(data[key])); ok {
			return code
		}
	}
	for _, raw := range []json.RawMessage{data["status"], data["statusCode"], data["httpStatus"], data["http_status"], data["code"]} {
		var status int
		if json.Unmarshal(raw, &status) == nil {
			if code, ok := byStatus(status); ok {
				return code
			}
		}
	}
	if code, ok := byStatus(e.Code); ok {
		return code
	}
	if code, ok := match(textRules(), e.Message); ok {
		return code
	}
	return event.ToolError
}

func match(rules []rule, s string) (event.FailureCode, bool) {
	for _, r := range rules {
		if r.mark.MatchString(s) {
			return r.code, true
		}
	}
	return 0, false
}

// byStatus reads an HTTP status of the model's server.
func byStatus(status int) (event.FailureCode, bool) {
	switch {
	case status == 408 || status == 504:
		return event.ModelTimeout, true
	case status >= 400 && status < 600:
		return event.ModelError, true
	}
	return 0, false
}
