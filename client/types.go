package client

import "paddock/client/gen"

// What the API speaks of. Their fields are described in api/openapi.yaml.
type (
	// Session is a running instance of an environment.
	Session = gen.Session
	// ActiveRun is the run that a session is working on.
	ActiveRun = gen.ActiveRun
	// SandboxStats is what a session's sandbox uses of the host.
	SandboxStats = gen.SandboxStats
	// SandboxStatsList is one page of them, newest session first.
	SandboxStatsList = gen.SandboxStatsList
	// OpenToolCall is what an agent is at.
	OpenToolCall = gen.OpenToolCall
	// SessionDiff is what has changed in a session's repositories.
	SessionDiff = gen.SessionDiff
	// RepoDiff is what has changed in one of them.
	RepoDiff = gen.RepoDiff
	// SessionList is one page of sessions, newest first.
	SessionList = gen.SessionList
	// Run is one turn of a session's agent.
	Run = gen.Run
	// RunFailure says why a run failed.
	RunFailure = gen.RunFailure
	// RunList is one page of runs, newest first.
	RunList = gen.RunList
	// Event is one entry of a session's history; its Data is the JSON payload of its Type.
	Event = gen.Event
	// Approval is a question that keeps a run waiting for a person.
	Approval = gen.Approval
	// PolicyValidation says how well an agent keeps a policy.
	PolicyValidation = gen.PolicyValidation
	// FilesystemVerdict says where the agent may write, and how well that is kept.
	FilesystemVerdict = gen.FilesystemVerdict
	// PolicyVerdict says how well it keeps a rule.
	PolicyVerdict = gen.PolicyVerdict
	// PolicyRule is one rule of it.
	PolicyRule = gen.PolicyRule
	// ApprovalDetails says what exactly is asked.
	ApprovalDetails = gen.ApprovalDetails
	// TeamApprovalList is one page of the approvals of all sessions, oldest first.
	TeamApprovalList = gen.TeamApprovalList
	// Grant is what a person approved for the rest of a session.
	Grant = gen.Grant
	// AnswerRequest answers an approval; its Outcome is one of the Outcome constants.
	AnswerRequest = gen.AnswerRequest
	// CancelAnswer says what a cancel met.
	CancelAnswer = gen.CancelAnswer
	// InputRequest is what a person says to the agent.
	InputRequest = gen.InputRequest
	// ExecRequest is one program to run in a sandbox.
	ExecRequest = gen.ExecRequest
	// ExecResult is how the program went.
	ExecResult = gen.ExecResult
	// File is one entry of a folder of the workspace.
	File = gen.File
	// AgentList is what agents are known by name.
	AgentList = gen.AgentList
	// Agent is one of them.
	Agent = gen.Agent
	// InstalledAgent is one installed version of it.
	InstalledAgent = gen.InstalledAgent
	// Environment is an immutable recipe of sessions.
	Environment = gen.Environment
	// CredentialSlot names a secret of an environment.
	CredentialSlot = gen.CredentialSlot
	// EnvironmentSummary is an environment in a list.
	EnvironmentSummary = gen.EnvironmentSummary
	// Template is a root file system made of an image.
	Template = gen.Template
	// TemplateList is one page of templates, newest first.
	TemplateList = gen.TemplateList
	// EnvironmentList is one page of environments, newest first.
	EnvironmentList = gen.EnvironmentList
	// Size is one class of machine.
	Size = gen.Size
	// Health is what the server says of itself.
	Health = gen.Health
)

// The outcomes of an AnswerRequest.
const (
	OutcomeApprove = "HITL_OUTCOME_APPROVE"
	OutcomeReject  = "HITL_OUTCOME_REJECT"
	OutcomeDefer   = "HITL_OUTCOME_DEFER"
)

// The states of a Session.
const (
	SessionProvisioning = "SESSION_STATUS_PROVISIONING"
	SessionReady        = "SESSION_STATUS_READY"
	SessionPaused       = "SESSION_STATUS_PAUSED"
	SessionUpdating     = "SESSION_STATUS_UPDATING"
	SessionDestroying   = "SESSION_STATUS_DESTROYING"
	SessionDestroyed    = "SESSION_STATUS_DESTROYED"
	SessionFailed       = "SESSION_STATUS_FAILED"
	SessionAll          = "SESSION_STATUS_ALL" // as a filter: whatever the state
)

// The states of a Run.
const (
	RunQueued    = "RUN_STATE_QUEUED"
	RunRunning   = "RUN_STATE_RUNNING"
	RunAwaiting  = "RUN_STATE_AWAITING_HITL"
	RunCompleted = "RUN_STATE_COMPLETED"
	RunFailed    = "RUN_STATE_FAILED"
	RunCancelled = "RUN_STATE_CANCELLED"
)
