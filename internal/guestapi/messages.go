package guestapi

import (
	"encoding/json"
	"time"

	"paddock/internal/event"
)

// The places inside the sandbox that both sides know.
const (
	IdentityDir = "/run/paddock"         // read-only: session-id, hostname, machine-id, and see package trust
	ControlDir  = "/run/paddock/control" // 0700 root
	SocketPath  = ControlDir + "/host.sock"
	SecretPath  = ControlDir + "/secret"
	BinDir      = "/opt/paddock/bin"
	GuestPath   = BinDir + "/paddock-guest"
	DemoPath    = BinDir + "/paddock-demo-agent"
	Workspace   = "/workspace"
	AgentUID    = 1000
	AgentGID    = 1000
	AgentUser   = "agent"
	AgentHome   = "/home/agent"
	RootHome    = "/root"
)

// Versions of the protocol. A host speaks its own version and the one before,
// since a sandbox outlives an upgrade of the server.
//
//	1  the first
//	2  a guest waits for its Welcome for as long as the connection stands; the
//	   Config names the machine
const (
	Version       = 2
	OldestVersion = 1
)

// Limits, in bytes unless said otherwise.
const (
	MaxLine        = 16 << 10  // Hello and Welcome
	MaxReport      = 1 << 20   // Data + SourceRaw of one report; the guest cuts longer ones
	MaxBatch       = 4 << 20   // body of one Batch
	MaxBatchCount  = 256       // reports in one Batch
	MaxJournal     = 64 << 20  // unacknowledged reports in the guest; past it the agent is not read
	ExecWindow     = 256 << 10 // output per stream that the guest holds unread; past it the pipe fills
	MaxPrompt      = 1 << 20   // text of one prompt
	MaxExecRequest = 8 << 20   // body of one ExecRequest, stdin included
)

// Hello is the guest's first line.
type Hello struct {
	Version int    `json:"version"`
	Oldest  int    `json:"oldest"`
	Secret  string `json:"secret"`
	Build   string `json:"build"`
	Epoch   int64  `json:"epoch"` // the epoch the guest numbers in; 0 before the first Welcome
}

// Welcome is the host's answer; a non-empty Error ends the connection.
type Welcome struct {
	Version int    `json:"version"`
	Error   string `json:"error,omitempty"`
	Epoch   int64  `json:"epoch"` // a guest with another epoch starts over at n = 1
	Ack     int64  `json:"ack"`   // the last n of this epoch that is stored
	// Prior is the last n that is stored of the epoch in the Hello, where that
	// is another one: a restored guest neither sends those again nor loses the
	// reports that follow them, which it numbers anew from 1.
	Prior int64 `json:"prior,omitempty"`
	// Active is the run that the host holds for active, empty when none is: a
	// guest that plays another one's turn ends it, since the host has given that
	// run up while it could not tell. Nil from a host that does not say.
	Active *string `json:"active,omitempty"`
}

// Config tells a guest what it is for. The same config again changes nothing.
type Config struct {
	Session string `json:"session"`
	// Hostname is what the machine is to be called; a guest of version 1 does
	// not know it, and none needs it that was started under that name.
	Hostname string            `json:"hostname,omitempty"`
	Agent    Agent             `json:"agent"`
	Env      map[string]string `json:"env,omitempty"` // for the agent and for execs
}

// Agent says which program to drive and how.
type Agent struct {
	Adapter string   `json:"adapter"` // "acp", "claude", "codex", or "none" when the session has no agent
	Name    string   `json:"name"`    // for people: "demo", "custom", "claude-code"
	Argv    []string `json:"argv,omitempty"`
	Dir     string   `json:"dir,omitempty"` // default Workspace
	// Env is for the agent alone, in place of variables of the same name that the
	// session has.
	Env map[string]string `json:"env,omitempty"`
	// Mode is the id of the mode that an ACP session is put into after it was made
	// and after it was loaded; "" leaves it.
	Mode string `json:"mode,omitempty"`
	// Auth is the id of the way to log in that an ACP agent is told before that;
	// "" for none.
	Auth string `json:"auth,omitempty"`
	// Root has the agent run as root of the machine instead of its own user.
	Root bool `json:"root,omitempty"`
	// Tools are the MCP servers that the agent is given.
	Tools []Tool `json:"tools,omitempty"`
	// Skills are put into SkillsDir, an absolute path, before the agent is started
	// for the first time.
	Skills    []Skill `json:"skills,omitempty"`
	SkillsDir string  `json:"skills_dir,omitempty"`
	// Confined bounds where the agent and all it starts may write; nil: wherever
	// its user may. A guest that cannot keep it starts no agent.
	Confined *Confined `json:"confined,omitempty"`
}

// Tool is an MCP server: a program that the agent starts, or one that it calls
// over HTTPS.
type Tool struct {
	Name    string            `json:"name"`
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // of Command
	URL     string            `json:"url,omitempty"` // without Command
	Headers map[string]string `json:"headers,omitempty"`
}

// Skill is a folder of files, by their paths in it, from which the agent learns.
type Skill struct {
	Name  string            `json:"name"`
	Files map[string]string `json:"files"`
}

// Confined are absolute paths of folders and files. /dev and /proc stay as they
// are, everything else is read-only.
type Confined struct {
	Folders []string `json:"folders"`           // writable where they exist
	Allowed []string `json:"allowed,omitempty"` // a person named them: what is missing is made or reported
}

// Prompt starts a turn.
type Prompt struct {
	Text      string `json:"text"`
	SourceRaw []byte `json:"source_raw,omitempty"`
}

// CancelOutcome says what a cancel met.
type CancelOutcome string

// The outcomes of a cancel; acked and no_turn are also the words of the wire.
const (
	CancelAcked  CancelOutcome = "acked"   // the turn is being ended; it is reported as cancelled
	CancelNoTurn CancelOutcome = "no_turn" // the turn has not begun, and will not
	CancelEnded  CancelOutcome = "ended"   // the turn was over before; how is, or will be, reported
)

// Decision answers an ask.
type Decision string

// The decisions.
const (
	Allow  Decision = "allow"
	Deny   Decision = "deny"
	Cancel Decision = "cancel" // the run ends; nobody decided
	// Wait settles nothing: a person has to decide. Only an ask that says how it
	// waits is told so, and it may be lost.
	Wait Decision = "wait"
)

// Answer is the reply to an Ask.
type Answer struct {
	Decision Decision       `json:"decision"`
	Reason   string         `json:"reason,omitempty"`
	Content  map[string]any `json:"content,omitempty"` // for a question with a form
	// Input is what the tool gets instead of what it asked for; only where the
	// ask was editable.
	Input json.RawMessage `json:"input,omitempty"`
}

// ReportType says what a report is about.
type ReportType string

// The types of reports.
const (
	ReportEvent ReportType = "event" // an entry for the history; Kind and Data as in package event
	ReportAsk   ReportType = "ask"   // Data is Ask: the turn waits for an Answer
	ReportEnd   ReportType = "end"   // Data is End: the turn is over
)

// GuestKinds are the kinds of events that a guest may report.
var GuestKinds = []event.Kind{event.TokenDelta, event.ToolCallStarted, event.ToolCallCompleted, event.UsageRecorded, event.CostAccrued, event.RunLog}

// Report is one thing that happened inside.
type Report struct {
	N          int64           `json:"n"` // from 1 per epoch, no gaps
	Run        string          `json:"run,omitempty"`
	Type       ReportType      `json:"type"`
	Kind       event.Kind      `json:"kind,omitempty"`
	Data       json.RawMessage `json:"data"`
	SourceType string          `json:"source_type,omitempty"`
	SourceRaw  []byte          `json:"source_raw,omitempty"`
}

// Batch carries reports with consecutive numbers.
type Batch struct {
	Epoch   int64    `json:"epoch"`
	Reports []Report `json:"reports"`
}

// Ack answers a Batch: everything up to N of the epoch is durable.
type Ack struct {
	Epoch int64 `json:"epoch"`
	N     int64 `json:"n"`
}

// Ask is a question that holds the turn.
type Ask struct {
	Key        string           `json:"key"` // unique in the guest's life; names the ask in Guest.Answer
	ToolCallID string           `json:"tool_call_id,omitempty"`
	Action     event.Action     `json:"action"`
	Details    event.AskDetails `json:"details"`
	Payload    json.RawMessage  `json:"payload,omitempty"`
	// Wait says what to do where a person has to decide.
	Wait AskWait `json:"wait,omitempty"`
}

// AskWait says how an ask waits for a person.
type AskWait string

// The ways to wait. A guest that says other than WaitHere does without the answer
// Wait where it does not come.
const (
	WaitHere      AskWait = ""          // the turn stands still
	WaitElsewhere AskWait = "elsewhere" // the agent has another place to stand still at, and is told to go there
	WaitNever     AskWait = "never"     // the agent cannot: no person is asked, and it is told that one would have to be
)

// EndOutcome says how a turn ended.
type EndOutcome string

// The outcomes of a turn.
const (
	EndCompleted EndOutcome = "completed"
	EndFailed    EndOutcome = "failed"
	EndCancelled EndOutcome = "cancelled"
)

// End is the last report of a turn.
type End struct {
	Outcome    EndOutcome        `json:"outcome"`
	StopReason string            `json:"stop_reason,omitempty"`
	Text       string            `json:"text,omitempty"` // the final answer, cut to 64 KiB
	TokensIn   int64             `json:"tokens_in,omitempty"`
	TokensOut  int64             `json:"tokens_out,omitempty"`
	CostMicros int64             `json:"cost_micros,omitempty"`
	Code       event.FailureCode `json:"code,omitempty"` // with EndFailed
	Message    string            `json:"message,omitempty"`
}

// ExecRequest starts a process beside the agent.
type ExecRequest struct {
	Argv    []string          `json:"argv"`
	Dir     string            `json:"dir,omitempty"`  // default Workspace; relative ones are below it
	User    string            `json:"user,omitempty"` // "agent" (default) or "root"
	Env     map[string]string `json:"env,omitempty"`  // added to the session's
	Stdin   []byte            `json:"stdin,omitempty"`
	Timeout time.Duration     `json:"timeout_ns"` // > 0; then the process group is killed
}

// ExecProgress is what is known of an exec at one moment.
type ExecProgress struct {
	Stdout    []byte    `json:"stdout,omitempty"` // from the offset asked for
	Stderr    []byte    `json:"stderr,omitempty"`
	StdoutEOF bool      `json:"stdout_eof"` // nothing follows what was just given
	StderrEOF bool      `json:"stderr_eof"`
	Exit      *ExecExit `json:"exit,omitempty"` // once the process has ended
}

// Done says whether the exec has ended and all of its output was given.
func (p ExecProgress) Done() bool { return p.Exit != nil && p.StdoutEOF && p.StderrEOF }

// ExecExit is how the process ended, as wait(2) told.
type ExecExit struct {
	Code     int           `json:"code"` // exit status, or 128 + signal
	TimedOut bool          `json:"timed_out,omitempty"`
	Detached bool          `json:"detached,omitempty"` // a child still holds the output; it lives on
	Duration time.Duration `json:"duration_ns"`
}

// File is one entry of a folder.
type File struct {
	Name    string    `json:"name"`
	Path    string    `json:"path"` // relative to the workspace, "." for itself
	Type    string    `json:"type"` // file, dir, symlink, other
	Size    int64     `json:"size"`
	Mode    uint32    `json:"mode"` // permission bits
	ModTime time.Time `json:"mod_time"`
	Target  string    `json:"target,omitempty"` // of a symlink
}
