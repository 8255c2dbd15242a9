// Package policy says whether an agent may do what it wants to do: rules make
// allow, ask or deny of a call, with the reason. It is pure.
//
// Rules are read in order and the last one that fits decides; where none does,
// the default does. A shell command is parsed, never matched as one text: each
// simple command that it would run (in lists, pipelines, substitutions,
// functions, here-documents, sh -c, and behind env, xargs, find -exec, sudo and
// the like) is decided by itself, and the strictest decision holds. What cannot
// be told before it runs fits a rule perhaps: unless every rule that it may fit
// says the same, a person is asked.
package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Action is what a rule says of the calls it fits.
type Action string

// The actions, mildest first.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
)

// Actions are the words for Action.
var Actions = []string{string(Allow), string(Ask), string(Deny)}

// Enforcement says what becomes of a rule that an adapter cannot keep.
type Enforcement string

// The enforcements. The zero value means BestEffort.
const (
	Strict     Enforcement = "strict" // a session whose adapter cannot keep the rule is refused
	BestEffort Enforcement = "best-effort"
)

// Enforcements are the words for Enforcement.
var Enforcements = []string{string(Strict), string(BestEffort)}

// Rule says what becomes of the calls that it fits.
type Rule struct {
	Tool        string            `json:"tool" yaml:"tool"`                       // see CheckTool
	Match       map[string]string `json:"match,omitempty" yaml:"match,omitempty"` // a glob per key, all of which must fit; see Keys
	Action      Action            `json:"action" yaml:"action"`
	Enforcement Enforcement       `json:"enforcement,omitempty" yaml:"enforcement,omitempty"`
}

// String is one line such as "deny bash {command: rm *}".
func (r Rule) String() string {
	var match []string
	for _, key := range slices.Sorted(maps.Keys(r.Match)) {
		match = append(match, key+": "+r.Match[key])
	}
	if len(match) == 0 {
		return fmt.Sprintf("%s %s", r.Action, r.Tool)
	}
	return fmt.Sprintf("%s %s {%s}", r.Action, r.Tool, strings.Join(match, ", "))
}

// Policy is what an agent may do.
type Policy struct {
	Default Action
	Rules   []Rule // the last that fits decides

	Workspace string // what relative paths of globs are relative to
	Home      string // what ~ at the beginning of a glob stands for
}

// Call is what an agent wants to do.
type Call struct {
	Tool    string // bash, file.read, file.write, web.fetch, mcp.SERVER.TOOL or any other word
	Command string // with bash
	// Paths are the names of the one file of a file.* call: as the agent wrote
	// it, and where its links lead. All of them must pass. None: not known.
	Paths []string
	URL   string // with web.fetch; empty: not known
	Dir   string // where the call is made; empty: the workspace
}

// Verdict is what becomes of a call.
type Verdict struct {
	Action Action
	// Rule is the index of the rule that decided, -1 when it was the default.
	Rule int
	// Subject is the part of the call that was decided, such as one simple
	// command of a list.
	Subject string
	// Unsure says why it cannot be told what the call does; empty when it can.
	Unsure string
}

// Because says in a few words what made the verdict.
func (p Policy) Because(v Verdict) string {
	by := fmt.Sprintf("permissions.default is %s", p.Default)
	if v.Rule >= 0 && v.Rule < len(p.Rules) {
		by = fmt.Sprintf("permissions.rules[%d]: %s", v.Rule, p.Rules[v.Rule])
	}
	if v.Unsure != "" {
		by += fmt.Sprintf(" (%s)", v.Unsure)
	}
	return by
}

// stricter gives the stricter of two actions. An unknown word is as strict as
// can be.
func stricter(a, b Action) Action {
	if a.rank() >= b.rank() {
		return a
	}
	return b
}

func (a Action) rank() int {
	switch a {
	case Allow:
		return 0
	case Ask:
		return 1
	}
	return 2
}
