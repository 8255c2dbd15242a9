package event

// Kind is the type of an event, in the words of the wire.
type Kind string

// The closed set of kinds.
const (
	RunStarted          Kind = "run.started"
	TokenDelta          Kind = "run.token_delta"
	ToolCallStarted     Kind = "run.tool_call_started"
	ToolCallCompleted   Kind = "run.tool_call_completed"
	HumanInputRequested Kind = "run.human_input_requested"
	HumanInputReceived  Kind = "run.human_input_received"
	RunCompleted        Kind = "run.completed"
	RunFailed           Kind = "run.failed"
	UsageRecorded       Kind = "run.usage_recorded"
	CostAccrued         Kind = "run.cost_accrued"
	StateCheckpointed   Kind = "run.state_checkpointed"
	SandboxAllocated    Kind = "run.sandbox_allocated"
	SandboxReleased     Kind = "run.sandbox_released"
	RunLog              Kind = "run.log"
	PolicyDenied        Kind = "policy.denied"
	SessionUpdated      Kind = "session.updated"
)

// Kinds lists the closed set.
var Kinds = []Kind{
	RunStarted, TokenDelta, ToolCallStarted, ToolCallCompleted, HumanInputRequested, HumanInputReceived,
	RunCompleted, RunFailed, UsageRecorded, CostAccrued, StateCheckpointed, SandboxAllocated,
	SandboxReleased, RunLog, PolicyDenied, SessionUpdated,
}

// Output says whether the payload is what a tool took or gave, or what was
// logged: of a history that grows too large it goes before what was said.
func (k Kind) Output() bool {
	return k == ToolCallStarted || k == ToolCallCompleted || k == RunLog
}

// Terminal says whether the kind ends its run.
func (k Kind) Terminal() bool { return k == RunCompleted || k == RunFailed }
