package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"paddock/client"
	"paddock/internal/plain"
)

// payload is what a conversation reads of an event's data, whatever its type.
type payload struct {
	Text        string                 `json:"text"`
	IsReasoning bool                   `json:"is_reasoning"`
	ToolCallID  string                 `json:"tool_call_id"`
	Name        string                 `json:"name"`
	Input       json.RawMessage        `json:"input"`
	OK          bool                   `json:"ok"`
	DurationMS  int64                  `json:"duration_ms"`
	Summary     string                 `json:"summary"`
	ExitCode    *int                   `json:"exit_code"`
	HITLID      string                 `json:"hitl_id"`
	Details     client.ApprovalDetails `json:"details"`
	Outcome     string                 `json:"outcome"`
	Actor       string                 `json:"actor"`
	Reason      string                 `json:"reason"`
	TokensIn    int64                  `json:"total_tokens_in"`
	TokensOut   int64                  `json:"total_tokens_out"`
	CostMicros  int64                  `json:"run_cost_micros"`
	TotalMicros int64                  `json:"running_total_micros"`
	Message     string                 `json:"message"`
	Cancelled   bool                   `json:"cancelled"`
	Terminal    bool                   `json:"terminal"`
	Level       string                 `json:"level"`
	Status      string                 `json:"status"`
	PauseReason string                 `json:"pause_reason"`
	Rule        string                 `json:"rule"`
	Tool        string                 `json:"tool"`
	Detail      string                 `json:"detail"`
	StepID      string                 `json:"step_id"`
	ModelID     string                 `json:"model_id"`
	Usage       struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

// read gives an event's payload; what cannot be read is zero, so that an event
// of a newer server does no harm.
func read(e client.Event) payload {
	var p payload
	_ = json.Unmarshal(e.Data, &p)
	return p
}

// describe gives a tool's input in one line and in full.
func describe(input json.RawMessage) (gist, full string) {
	var in struct {
		Command any    `json:"command"`
		Path    string `json:"path"`
	}
	_ = json.Unmarshal(input, &in)
	switch command := in.Command.(type) {
	case string:
		gist, full = command, command
	case []any:
		var words []string
		for _, w := range command {
			text, ok := w.(string)
			if !ok {
				b, _ := json.Marshal(w)
				text = string(b)
			}
			words = append(words, text)
		}
		gist = strings.Join(words, " ")
		full = gist
	}
	if gist == "" {
		gist = in.Path
	}
	if text := string(bytes.TrimSpace(input)); full == "" && text != "" && text != "null" && text != "{}" {
		var pretty bytes.Buffer
		if full = text; json.Indent(&pretty, input, "", "  ") == nil {
			full = pretty.String()
		}
		if gist == "" {
			gist = text
		}
	}
	return oneLine(plain.Exact(gist)), plain.Exact(full)
}

// oneLine makes one line of a text without hiding any of it.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ⏎ ") }
