package claude

import (
	"bytes"
	"encoding/json"
	"errors"
)

// The parts of the protocol that we use. Fields that we do not read are left
// out; everything stays in the raw frame.

// frame is any message of the agent; which fields are set depends on its type.
type frame struct {
	Type      string  `json:"type"`
	Subtype   string  `json:"subtype"`
	SessionID string  `json:"session_id"`
	Parent    *string `json:"parent_tool_use_id"` // of what a subagent says: the call that it belongs to
	UUID      string  `json:"uuid"`

	RequestID string          `json:"request_id"` // control_request, control_cancel_request
	Request   json.RawMessage `json:"request"`    // control_request
	Response  json.RawMessage `json:"response"`   // control_response

	Event    json.RawMessage `json:"event"`                // stream_event
	Message  json.RawMessage `json:"message"`              // assistant, user
	IsReplay bool            `json:"isReplay"`             // user: our own prompt, now that it is begun
	APIError bool            `json:"is_api_error_message"` // assistant: no words of the model

	result        // result
	retry         // system/api_retry
	Servers []mcp `json:"mcp_servers"` // system/init

	raw []byte // the line it came in
}

func parse(line []byte) (frame, error) {
	var f frame
	err := json.Unmarshal(line, &f)
	// A field that is not what it was leaves the others readable.
	var other *json.UnmarshalTypeError
	if err != nil && !(errors.As(err, &other) && f.Type != "") {
		return frame{raw: line}, err
	}
	f.raw = line
	return f, nil
}

// kind is the frame's type as the history names it.
func (f frame) kind() string {
	if f.Subtype == "" {
		return f.Type
	}
	return f.Type + "/" + f.Subtype
}

// ofSubagent says whether somebody speaks whom the agent has started itself.
func (f frame) ofSubagent() bool { return f.Parent != nil && *f.Parent != "" }

// startsMessage says whether the model begins to speak.
func (f frame) startsMessage() bool {
	var e streamEvent
	return f.Type == "stream_event" && decode(f.Event, &e) && e.Type == "message_start"
}

// result ends a turn. A turn that failed for its model's sake is a "success",
// too: only IsError tells.
type result struct {
	IsError        bool              `json:"is_error"`
	Result         string            `json:"result"` // the final answer, or what went wrong
	Errors         []string          `json:"errors"`
	StopReason     string            `json:"stop_reason"`
	TerminalReason string            `json:"terminal_reason"`
	APIErrorStatus *int              `json:"api_error_status"`
	APIErrorKind   string            `json:"api_error"`
	Cost           float64           `json:"total_cost_usd"` // of the process so far
	Models         map[string]tokens `json:"modelUsage"`     // of the process so far
}

// tokens are what a process has used of one model.
type tokens struct {
	Input       int64 `json:"inputTokens"` // without what was cached
	Output      int64 `json:"outputTokens"`
	CachedRead  int64 `json:"cacheReadInputTokens"`
	CachedWrite int64 `json:"cacheCreationInputTokens"`
	Thinking    int64 `json:"thinkingTokens"`
}

// retry says that a request to the model failed and is made again.
type retry struct {
	Attempt     int    `json:"attempt"`
	MaxRetries  int    `json:"max_retries"`
	DelayMS     int64  `json:"retry_delay_ms"`
	ErrorStatus *int   `json:"error_status"`
	Error       string `json:"error"`
}

// mcp is what became of an MCP server.
type mcp struct {
	Name   string `json:"name"`
	Status string `json:"status"` // connected, failed, needs-auth, pending
}

// streamEvent is a piece of the model's own stream.
type streamEvent struct {
	Type    string `json:"type"`
	Message struct {
		ID string `json:"id"`
	} `json:"message"` // message_start
	Delta struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	} `json:"delta"` // content_block_delta
}

// message is what the model said, or what it is told.
type message struct {
	ID      string          `json:"id"`
	Content json.RawMessage `json:"content"` // a text, or blocks
}

// block is a part of a message.
type block struct {
	Type      string          `json:"type"` // text, thinking, tool_use, tool_result
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"` // of a result: a text, or blocks
	IsError   bool            `json:"is_error"`
}

// blocks reads the blocks of a content; one that is a text has none.
func blocks(content json.RawMessage) []block {
	var list []block
	_ = json.Unmarshal(content, &list) // what cannot be read stays in the frame
	return list
}

// textOf is the text of a content.
func textOf(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var b bytes.Buffer
	for _, part := range blocks(content) {
		if part.Type == "text" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

// control is what the agent asks us.
type control struct {
	Subtype   string          `json:"subtype"` // hook_callback, can_use_tool, elicitation
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	Input     json.RawMessage `json:"input"` // of a hook: hookInput; of can_use_tool: the tool's

	Message string          `json:"message"`          // elicitation
	Mode    string          `json:"mode"`             // elicitation: form, url
	Schema  json.RawMessage `json:"requested_schema"` // elicitation
}

// hookInput is what a hook is told.
type hookInput struct {
	Event     string          `json:"hook_event_name"`
	Cwd       string          `json:"cwd"`
	ToolName  string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
	ToolUseID string          `json:"tool_use_id"`
}

// hookOutput answers a hook.
type hookOutput struct {
	Specific struct {
		Event    string          `json:"hookEventName"`
		Decision string          `json:"permissionDecision"` // allow, deny
		Reason   string          `json:"permissionDecisionReason,omitempty"`
		Input    json.RawMessage `json:"updatedInput,omitempty"`
	} `json:"hookSpecificOutput"`
}

// permission answers can_use_tool.
type permission struct {
	Behavior string          `json:"behavior"` // allow, deny
	Input    json.RawMessage `json:"updatedInput,omitempty"`
	Message  string          `json:"message,omitempty"`
}

// elicited answers an elicitation.
type elicited struct {
	Action  string         `json:"action"` // accept, decline, cancel
	Content map[string]any `json:"content,omitempty"`
}

// The messages to the agent.
type (
	prompt struct {
		Type    string `json:"type"` // user
		Message struct {
			Role    string      `json:"role"`
			Content []textBlock `json:"content"`
		} `json:"message"`
		Parent  *string `json:"parent_tool_use_id"`
		Session string  `json:"session_id"`
	}
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	controlRequest struct {
		Type      string `json:"type"` // control_request
		RequestID string `json:"request_id"`
		Request   any    `json:"request"`
	}
	controlResponse struct {
		Type     string   `json:"type"` // control_response
		Response response `json:"response"`
	}
	response struct {
		Subtype   string `json:"subtype"` // success, error
		RequestID string `json:"request_id"`
		Response  any    `json:"response,omitempty"`
		Error     string `json:"error,omitempty"`
	}
	initialize struct {
		Subtype string              `json:"subtype"`
		Hooks   map[string][]hookOn `json:"hooks"`
	}
	hookOn struct {
		Matcher string   `json:"matcher"`
		IDs     []string `json:"hookCallbackIds"`
		Timeout int      `json:"timeout"` // seconds
	}
	interrupt struct {
		Subtype string `json:"subtype"`
	}
)

func promptOf(text string) prompt {
	p := prompt{Type: "user"}
	p.Message.Role, p.Message.Content = "user", []textBlock{{"text", text}}
	return p
}

// line is a message as it is sent.
func line(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("claude: encode: " + err.Error()) // our own types always encode; so does JSON that was checked
	}
	return b.Bytes()
}
