package acp

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"paddock/internal/event"
	"paddock/internal/guest"
)

// spoken names the agents (agentInfo.name, in lower case) that say errors and
// notices as text of their answer, each in a piece of its own. Measured.
var spoken = map[string]bool{"copilot": true}

// notice fits what such an agent says of itself: that it tries again, or a file
// that it has made.
var notice = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Info: (?:(/\S+)|.*Retrying\.\.\.)\s*$`) })

const complaint = "Error: "

// aside takes a piece of text that is none of the answer; false when it is.
func (x *translation) aside(text string, source guest.Source) bool {
	x.complaint = ""
	if !x.spoken {
		return false
	}
	if m := notice().FindStringSubmatch(text); m != nil {
		level := "warn"
		if m[1] != "" {
			level = "debug"
		}
		x.sink.Log(event.Log{Level: level, Message: strings.TrimSpace(strings.TrimPrefix(text, "Info: "))}, source)
		return true
	}
	x.complaint, _ = strings.CutPrefix(text, complaint)
	if x.complaint == text {
		x.complaint = ""
	}
	return false
}

// failure gives the error that such an agent ended its turn with: what it said at
// last, in a turn that used nothing.
func (x *translation) failure(result promptResult) (code event.FailureCode, message string, failed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.complaint == "" || result.Usage != nil || result.StopReason != "end_turn" {
		return 0, "", false
	}
	message = strings.ToValidUTF8(x.complaint, "\uFFFD")
	if m := statusInText().FindString(message); m != "" {
		status, _ := strconv.Atoi(m) // three digits
		if code, ok := byStatus(status); ok {
			return code, message, true
		}
	}
	if code, ok := match(textRules(), message); ok {
		return code, message, true
	}
	return event.ModelError, message, true
}

var statusInText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[45]\d\d\b`) })
