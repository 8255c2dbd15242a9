package environment

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"paddock/internal/agents"
	"paddock/internal/policy"
)

// Permissions says what the agent may do.
type Permissions struct {
	Default string        `json:"default"` // allow, ask, deny
	Rules   []policy.Rule `json:"rules,omitempty"`
	// Network is kept as it was written, as YAML: nothing reads it yet. What bounds
	// a sandbox is Spec.Egress.
	Network    string     `json:"network,omitempty"`
	Filesystem Filesystem `json:"filesystem,omitzero"`
}

// Policy is what the permissions mean in a sandbox with these folders.
func (p Permissions) Policy(workspace, home string) policy.Policy {
	return policy.Policy{Default: policy.Action(p.Default), Rules: p.Rules, Workspace: workspace, Home: home}
}

// Mediation says which calls the spec's agent lays before the policy. The demo
// agent reads files without asking; of an agent that anybody may have written
// nothing is known but what it asks.
func (s Spec) Mediation() policy.Mediation {
	switch s.Agent {
	case "demo":
		return policy.Mediation{Agent: s.Agent, Unasked: []string{policy.FileRead}}
	case "none":
		return policy.Mediation{Agent: s.Agent}
	}
	known, _ := agents.Find(s.Agent)
	return policy.Mediation{Agent: s.Agent, Unproven: known.Mediation != agents.Full}
}

// maxRules is how many rules a spec may have. Each is held against each simple
// command that the agent wants to run.
const maxRules = 100

var permissionFields = fields{
	"default":       (*parser).defaultAction,
	"defaultAction": (*parser).defaultAction,
	"rules":         (*parser).rules,
	"network":       (*parser).network,
	"filesystem": func(p *parser, v value) {
		p.fields(v, filesystemFields, "mode: workspace")
	},
}

// defaultAction reads default, or its older spelling.
func (p *parser) defaultAction(v value) {
	if twice := p.either("permissions.default", "permissions.defaultAction"); twice {
		p.fault(v.key, v.path, "default and defaultAction are the same; write only default")
	}
	p.spec.Permissions.Default, _ = p.choice(v, policy.Actions)
}

// either says whether both spellings of a key are set.
func (p *parser) either(one, other string) bool {
	_, a := p.at[one]
	_, b := p.at[other]
	return a && b
}

func (p *parser) network(v value) {
	text, err := yaml.Marshal(v.node)
	if v.node.Kind != yaml.MappingNode || err != nil {
		p.wants(v, "keys and values such as egress: []")
		return
	}
	p.spec.Permissions.Network = string(text)
	p.warnings = append(p.warnings, Warning{Line: v.key.Line, Path: v.path,
		Message: "is kept, but nothing heeds it yet; egress, at the top of the spec, bounds the whole sandbox"})
}

const ruleExample = "{tool: bash, match: {command: 'rm *'}, action: deny}"

func (p *parser) rules(v value) {
	if v.node.Kind != yaml.SequenceNode {
		p.wants(v, "a list of rules such as - %s", ruleExample)
		return
	}
	if n := len(v.node.Content); n > maxRules {
		p.fault(v.node, v.path, "has %d rules, at most %d are allowed", n, maxRules)
		return
	}
	for i, item := range v.node.Content {
		rule := p.rule(value{path: fmt.Sprintf("%s[%d]", v.path, i), node: item})
		p.spec.Permissions.Rules = append(p.spec.Permissions.Rules, rule)
	}
}

// rule reads one rule. What may be matched depends on its tool, wherever that
// stands.
func (p *parser) rule(v value) (rule policy.Rule) {
	var tool, match, action *value
	p.fields(v, fields{
		"tool":   func(_ *parser, v value) { tool = &v },
		"match":  func(_ *parser, v value) { match = &v },
		"action": func(_ *parser, v value) { action = &v },
		"enforcement": func(p *parser, v value) {
			word, _ := p.choice(v, policy.Enforcements)
			rule.Enforcement = policy.Enforcement(word)
		},
	}, ruleExample)
	if v.node.Kind != yaml.MappingNode {
		return rule
	}
	if action == nil {
		p.fault(v.node, v.path+".action", "is missing; write one of %s", strings.Join(policy.Actions, ", "))
	} else {
		word, _ := p.choice(*action, policy.Actions)
		rule.Action = policy.Action(word)
	}
	if tool == nil {
		p.fault(v.node, v.path+".tool", "is missing; write one such as bash, or * for any")
		return rule
	}
	var ok bool
	if rule.Tool, ok = p.text(*tool, "a tool such as bash"); !ok {
		return rule
	}
	if err := policy.CheckTool(rule.Tool); err != nil {
		p.fault(tool.node, tool.path, "%s%s", err, suggest(rule.Tool, policy.Tools()))
		return rule
	}
	if match != nil {
		rule.Match = p.match(*match, rule.Tool)
	}
	return rule
}

func (p *parser) match(v value, tool string) map[string]string {
	globs, keys := map[string]string{}, policy.Keys(tool)
	p.mapping(v, "command: 'rm *'", func(v value) {
		name := v.key.Value
		if !slices.Contains(keys, name) {
			p.fault(v.key, v.path, "%s is not matched by it; %s%s", tool, whatMatches(keys), suggest(name, keys))
			return
		}
		glob, ok := p.text(v, "a text such as 'rm *'")
		if err := policy.CheckGlob(glob); ok && err != nil {
			p.fault(v.place(), v.path, "%s", err)
		}
		globs[name] = glob
	})
	if len(globs) == 0 {
		return nil
	}
	return globs
}

func whatMatches(keys []string) string {
	if len(keys) == 0 {
		return "only its name says which calls are meant"
	}
	return "it may be matched by " + strings.Join(keys, " or ")
}
