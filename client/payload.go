package client

import "encoding/json"

// Payload is the data of an event of whatever type; what a type lacks stays
// zero. Which type has which fields says /openapi.yaml.
type Payload struct {
	Agent       string          `json:"agent"`
	Text        string          `json:"text"`
	IsReasoning bool            `json:"is_reasoning"`
	ToolCallID  string          `json:"tool_call_id"`
	Name        string          `json:"name"`
	Input       json.RawMessage `json:"input"`
	OK          bool            `json:"ok"`
	DurationMS  int64           `json:"duration_ms"`
	Summary     string          `json:"summary"`
	ExitCode    *int            `json:"exit_code"`
	HITLID      string          `json:"hitl_id"`
	Action      string          `json:"action"`
	Details     ApprovalDetails `json:"details"`
	Outcome     string          `json:"outcome"`
	Actor       string          `json:"actor"`
	Reason      string          `json:"reason"`
	GrantID     string          `json:"grant_id"`
	TokensIn    int64           `json:"total_tokens_in"`
	TokensOut   int64           `json:"total_tokens_out"`
	CostMicros  int64           `json:"run_cost_micros"`      // millionths of a US dollar
	TotalMicros int64           `json:"running_total_micros"` // the same, of a run that goes on
	Message     string          `json:"message"`
	Cancelled   bool            `json:"cancelled"`
	Terminal    bool            `json:"terminal"`
	Level       string          `json:"level"`
	Fields      struct {
		GrantID string `json:"grant_id"`
	} `json:"fields"`
	Status      string `json:"status"` // one of the Session constants
	PauseReason string `json:"pause_reason"`
	Rule        string `json:"rule"`
	Tool        string `json:"tool"`
	Detail      string `json:"detail"`
	SandboxID   string `json:"sandbox_id"`
	Kind        string `json:"kind"`
	StepID      string `json:"step_id"`
	ModelID     string `json:"model_id"`
	Usage       struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

// Grim says whether a run.log tells of trouble.
func (p Payload) Grim() bool { return p.Level == "warn" || p.Level == "error" }

// Notable says whether a run.log is for whoever follows the conversation:
// trouble, and what a grant allowed in a person's place.
func (p Payload) Notable() bool { return p.Grim() || p.Fields.GrantID != "" }

// ReadPayload gives an event's payload; what cannot be read is zero, so that an
// event of a newer server never ends a stream.
func ReadPayload(e Event) Payload {
	var p Payload
	_ = json.Unmarshal(e.Data, &p)
	return p
}
