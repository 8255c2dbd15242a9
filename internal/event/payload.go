package event

import (
	"cmp"
	"encoding/json"
	"time"
)

// Started is the payload of RunStarted.
type Started struct {
	Agent string `json:"agent"`
	Text  string `json:"text"` // the input
}

// Delta is the payload of TokenDelta: a piece of the agent's text. Pieces never
// split a code point.
type Delta struct {
	Text        string `json:"text"`
	IsReasoning bool   `json:"is_reasoning,omitempty"`
}

// ToolStarted is the payload of ToolCallStarted.
type ToolStarted struct {
	ToolCallID string          `json:"tool_call_id"`
	Name       string          `json:"name"`
	Input      json.RawMessage `json:"input,omitempty"`
	Kind       string          `json:"kind,omitempty"` // ACP tool kind: read edit delete move search execute think fetch switch_mode other
}

// ToolCompleted is the payload of ToolCallCompleted.
type ToolCompleted struct {
	ToolCallID string `json:"tool_call_id"`
	OK         bool   `json:"ok"`
	DurationMS int64  `json:"duration_ms"`
	Summary    string `json:"summary"` // the tool's output, cut to a few KiB
	ExitCode   *int   `json:"exit_code,omitempty"`
}

// Action is what a person is asked to allow, in the words of the wire.
type Action string

// The actions that the public protocol has words for; anything else is
// ActionUnspecified with details.tool.
const (
	ActionUnspecified  Action = "HITL_ACTION_KIND_UNSPECIFIED"
	ActionBash         Action = "HITL_ACTION_BASH"
	ActionWriteOutside Action = "HITL_ACTION_FILE_WRITE_OUTSIDE_WORKSPACE"
)

// AskDetails says what exactly is asked. Question is set when the agent asks
// the person for an answer rather than for permission; Schema is then the form
// (JSON schema) the answer has to fit, if the agent gave one. Kind is the tool's
// (see ToolStarted), Input its whole input where that is not too long; Editable
// says that the agent takes another input together with the permission.
type AskDetails struct {
	Tool     string          `json:"tool,omitempty"`
	Kind     string          `json:"kind,omitempty"`
	Command  string          `json:"command,omitempty"`
	Path     string          `json:"path,omitempty"`
	Title    string          `json:"title,omitempty"`
	Question string          `json:"question,omitempty"`
	Schema   json.RawMessage `json:"schema,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Editable bool            `json:"editable,omitempty"`

	Paths   []string `json:"paths,omitempty"`   // in full, the files that it names, and where their links lead
	URL     string   `json:"url,omitempty"`     // that it fetches
	Dir     string   `json:"dir,omitempty"`     // where Command runs, if not in the workspace itself
	Guessed bool     `json:"guessed,omitempty"` // Command is no more than the title
	Because string   `json:"because,omitempty"` // the rule by which a person is asked, set by the engine
}

// Gist is what it is about, in one text: a command, a path, or the agent's words.
func (d AskDetails) Gist() string {
	if d.Command != "" && d.Dir != "" {
		return d.Command + " (in " + d.Dir + ")"
	}
	return cmp.Or(d.Command, d.Path, d.Title)
}

// Asked is the payload of HumanInputRequested.
type Asked struct {
	HITLID     string          `json:"hitl_id"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	Action     Action          `json:"action"`
	Details    AskDetails      `json:"details"`
	Payload    json.RawMessage `json:"payload,omitempty"` // the agent's own request
	Deadline   *time.Time      `json:"deadline,omitempty"`
}

// Answered is the payload of HumanInputReceived. Content of a form is never
// part of it. What a rule or a grant decides is no answer: nobody was asked.
type Answered struct {
	HITLID  string          `json:"hitl_id"`
	Outcome string          `json:"outcome"` // HITL_OUTCOME_APPROVE, _REJECT or _DEFER
	Actor   string          `json:"actor"`
	Reason  string          `json:"reason,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`    // the tool's input as the person edited it
	GrantID string          `json:"grant_id,omitempty"` // the grant that was given with it
}

// Completed is the payload of RunCompleted.
type Completed struct {
	TokensIn   int64  `json:"total_tokens_in"`
	TokensOut  int64  `json:"total_tokens_out"`
	CostMicros int64  `json:"run_cost_micros"` // millionths of a US dollar
	StopReason string `json:"stop_reason,omitempty"`
	Text       string `json:"text,omitempty"` // the final answer
}

// FailureCode classes a failed run; the numbers are the wire's.
type FailureCode int

// The failure codes of the public protocol.
const (
	ModelError     FailureCode = 1
	ModelTimeout   FailureCode = 2
	ToolError      FailureCode = 3
	SandboxLost    FailureCode = 4
	HITLRejected   FailureCode = 5
	BudgetExceeded FailureCode = 6
	Internal       FailureCode = 7
)

var failureNames = map[FailureCode]string{
	ModelError: "model_error", ModelTimeout: "model_timeout", ToolError: "tool_error", SandboxLost: "sandbox_lost",
	HITLRejected: "hitl_rejected", BudgetExceeded: "budget_exceeded", Internal: "internal",
}

// Name is the code's word, "internal" for an unknown code.
func (c FailureCode) Name() string {
	if n, ok := failureNames[c]; ok {
		return n
	}
	return failureNames[Internal]
}

// Failed is the payload of RunFailed.
type Failed struct {
	Code      FailureCode `json:"code"`
	Name      string      `json:"name"`
	Message   string      `json:"message"`
	Cancelled bool        `json:"cancelled,omitempty"`
	Terminal  bool        `json:"terminal"` // true: the session accepts no further input
}

// Tokens counts what one model call used.
type Tokens struct {
	Input       int64 `json:"input_tokens"`
	Output      int64 `json:"output_tokens"`
	CachedInput int64 `json:"cached_input_tokens"`
	Reasoning   int64 `json:"reasoning_tokens"`
}

// Usage is the payload of UsageRecorded.
type Usage struct {
	StepID  string `json:"step_id"`
	ModelID string `json:"model_id,omitempty"`
	Usage   Tokens `json:"usage"`
}

// Cost is the payload of CostAccrued, in millionths of a US dollar.
type Cost struct {
	RunningTotalMicros int64 `json:"running_total_micros"`
	DeltaMicros        int64 `json:"delta_micros"`
}

// Allocated is the payload of SandboxAllocated.
type Allocated struct {
	SandboxID string `json:"sandbox_id"`
	Kind      string `json:"kind"` // the driver's isolation word
	Template  string `json:"template"`
}

// Released is the payload of SandboxReleased.
type Released struct {
	SandboxID  string `json:"sandbox_id"`
	DurationMS int64  `json:"duration_ms"`
	Reason     string `json:"reason,omitempty"`
	ExitCode   *int   `json:"exit_code,omitempty"` // only where one was observed
}

// Log is the payload of RunLog.
type Log struct {
	Level   string         `json:"level"` // debug info warn error
	Message string         `json:"message"`
	Fields  map[string]any `json:"fields,omitempty"`
}

// SessionState is the payload of SessionUpdated.
type SessionState struct {
	Status      string `json:"status"` // SESSION_STATUS_*
	PauseReason string `json:"pause_reason,omitempty"`
	Message     string `json:"message,omitempty"`
	// Memory and RestoredTo are set when the session lost its memory: why, as
	// lost:<reason>, and of when the files are that it goes on with.
	Memory     string     `json:"memory,omitempty"`
	RestoredTo *time.Time `json:"restored_to,omitempty"`
}

// Denied is the payload of PolicyDenied.
type Denied struct {
	Rule   string `json:"rule"`
	Tool   string `json:"tool,omitempty"`
	Detail string `json:"detail,omitempty"` // the command, path or title it was about
}
