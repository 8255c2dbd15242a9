// Package environment holds the recipe from which sessions are made: the YAML
// spec, read strictly, with its defaults, faults and warnings. It is pure.
package environment

import (
	"time"

	"paddock/internal/id"
)

// Environment is an immutable recipe.
type Environment struct {
	ID          id.Environment
	Team        id.Team
	Name        string
	Source      string // the YAML (or JSON) text it was made from, without the values of secrets
	Spec        Spec
	Sealed      []byte // the values of Spec.Secrets; nil when there are none
	ContentHash string // Spec.ContentHash, keyed where there are secrets; empty for those of old builds
	CreatedBy   string // name of the token that made it
	CreatedAt   time.Time
	RemovedAt   time.Time // zero while it is listed
}

// Spec is a recipe, defaults filled in.
type Spec struct {
	Name        string            `json:"name,omitempty"`    // of the session; empty: generated
	Agent       string            `json:"agent"`             // demo, none, custom, or the name of a known one
	Command     []string          `json:"command,omitempty"` // with agent: custom
	Size        string            `json:"size"`              // slug of Sizes
	IdleTimeout time.Duration     `json:"idle_timeout_ns"`   // 1 min – 24 h
	KeepWarm    bool              `json:"keep_warm,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Secrets     []Secret          `json:"secrets,omitempty"` // in order of their names
	Template    string            `json:"template"`          // a name; empty with an image
	Image       string            `json:"image,omitempty"`   // a reference to an image of a registry
	Permissions Permissions       `json:"permissions"`
	MaxRunTime  time.Duration     `json:"max_run_time_ns"` // 1 s – 24 h
	Approvals   Approvals         `json:"approvals"`
	Egress      Egress            `json:"egress,omitzero"`
	Tools       []Tool            `json:"tools,omitempty"`
	Skills      []Skill           `json:"skills,omitempty"`
	Network     Network           `json:"network,omitzero"`
	Repos       []Repo            `json:"repos,omitempty"`
	RunAs       string            `json:"run_as,omitempty"` // the agent's user; empty: AsAgent
}

// The users that an agent may run as.
const (
	AsAgent = "agent"
	AsRoot  = "root"
)

// Approvals says what becomes of a question that nobody answers.
type Approvals struct {
	Timeout   time.Duration `json:"timeout_ns"` // 1 s – 30 days
	OnTimeout string        `json:"on_timeout"` // reject, approve
}

// Complete fills in what a spec leaves out that was stored before these keys
// were known.
func (a Approvals) Complete() Approvals {
	if a.Timeout == 0 {
		a.Timeout = DefaultApprovalTimeout
	}
	if a.OnTimeout == "" {
		a.OnTimeout = DefaultOnTimeout
	}
	return a
}

// Size is one class of machine that a spec may name.
type Size struct {
	Slug     string
	VCPUs    int
	MemoryMB int
	DiskMB   int // MiB of files that may be written
	Pids     int // processes inside
}
