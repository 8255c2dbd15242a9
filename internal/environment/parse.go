package environment

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"paddock/internal/agents"
)

// The values of a spec that leaves a key out, and the bounds of durations.
const (
	DefaultSize        = "small"
	DefaultTemplate    = "host"
	DefaultPermission  = "ask"
	DefaultIdleTimeout = 15 * time.Minute
	DefaultMaxRunTime  = 2 * time.Hour

	DefaultApprovalTimeout = 24 * time.Hour
	DefaultOnTimeout       = "reject"

	minIdleTimeout, maxIdleTimeout = time.Minute, 24 * time.Hour
	minRunTime, maxRunTime         = time.Second, 24 * time.Hour

	minApprovalTimeout, maxApprovalTimeout = time.Second, 30 * 24 * time.Hour
)

// The words that a spec may use.
var (
	agentWords = append([]string{"demo", "none", "custom"}, agents.Names()...)
	onTimeouts = []string{"reject", "approve"}
)

// Parse reads a spec, YAML or JSON, strictly: a key that is unknown, comes
// later, stands twice or has a value of the wrong kind is a fault, never
// ignored. All faults come at once, as a *Faults. checkName says in a sentence
// what is wrong with a session's name.
func Parse(text []byte, checkName func(name string) error) (Spec, []Warning, error) {
	root, fault := load(text)
	if fault != nil {
		return Spec{}, nil, newFaults([]Fault{*fault})
	}
	p := parser{at: map[string]value{}, spec: defaults(), checkName: checkName}
	p.structure(root, "")
	p.fields(value{node: root}, specFields, "agent: demo")
	if root.Kind == yaml.MappingNode {
		p.whole()
		p.brokerKeys()
		p.checkSecrets(root)
	}
	if err := newFaults(p.faults); err != nil {
		return Spec{}, nil, err
	}
	return p.spec, p.warnings, nil
}

func defaults() Spec {
	return Spec{
		Size: DefaultSize, IdleTimeout: DefaultIdleTimeout, Template: DefaultTemplate,
		Permissions: Permissions{Default: DefaultPermission}, MaxRunTime: DefaultMaxRunTime,
		Approvals: Approvals{}.Complete(),
	}
}

// parser fills a spec from the keys of a text.
type parser struct {
	reader
	spec      Spec
	at        map[string]value // what the text sets, by path
	secretsAt []placedSecret
	checkName func(string) error
}

// fields are the keys of a mapping and what each does.
type fields map[string]func(p *parser, v value)

var specFields = fields{
	"name":         (*parser).name,
	"agent":        (*parser).agent,
	"command":      (*parser).command,
	"size":         func(p *parser, v value) { p.spec.Size, _ = p.choice(v, sizeSlugs()) },
	"idle_timeout": func(p *parser, v value) { p.spec.IdleTimeout = p.duration(v, minIdleTimeout, maxIdleTimeout) },
	"keep_warm":    func(p *parser, v value) { p.spec.KeepWarm = p.truth(v) },
	"env":          (*parser).env,
	"secrets":      (*parser).secrets,
	"template":     (*parser).template,
	"image":        (*parser).image,
	"permissions":  func(p *parser, v value) { p.fields(v, permissionFields, "default: ask") },
	"max_run_time": func(p *parser, v value) { p.spec.MaxRunTime = p.duration(v, minRunTime, maxRunTime) },
	"egress":       (*parser).egress,
	"approvals":    func(p *parser, v value) { p.fields(v, approvalFields, "timeout: 1h") },
	"tools":        (*parser).tools,
	"repos":        (*parser).repos,
	"skills":       (*parser).skills,
	"network":      func(p *parser, v value) { p.fields(v, networkFields, "connections: 100") },
	"run_as":       (*parser).runAs,
}

var approvalFields = fields{
	"timeout": func(p *parser, v value) {
		p.spec.Approvals.Timeout = p.duration(v, minApprovalTimeout, maxApprovalTimeout)
	},
	"on_timeout": func(p *parser, v value) { p.spec.Approvals.OnTimeout, _ = p.choice(v, onTimeouts) },
}

// fields reads a mapping of which only some keys are known.
func (p *parser) fields(v value, known fields, example string) {
	p.mapping(v, example, func(v value) {
		if read, ok := known[v.key.Value]; ok {
			p.at[v.path] = v
			read(p, v)
		} else if message, ok := later[v.path]; ok {
			p.fault(v.key, v.path, "%s", message)
		} else if len(p.faults) < maxFaults {
			p.fault(v.key, v.path, "unknown key%s", suggest(v.key.Value, slices.Sorted(maps.Keys(known))))
		} else {
			p.fault(v.key, v.path, "unknown key") // only counted
		}
	})
}

func (p *parser) name(v value) {
	name, ok := p.text(v, "a text such as my-session")
	if ok && name == "" {
		p.fault(v.node, v.path, "is empty; leave it out to get a generated one")
	} else if err := p.checkName(name); ok && err != nil {
		p.fault(v.node, v.path, "%s", err)
	}
	p.spec.Name = name
}

// agent reads an agent's name, or another word for it.
func (p *parser) agent(v value) {
	if v.node.Kind == yaml.ScalarNode {
		if known, ok := agents.Find(v.node.Value); ok {
			p.spec.Agent = known.Name
			return
		}
	}
	p.spec.Agent, _ = p.choice(v, agentWords)
}

func (p *parser) command(v value) { p.spec.Command = p.program(v, "[my-agent, --acp]") }

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// maxVariable is the longest NAME=value that Linux starts a program with
// (MAX_ARG_STRLEN, 32 pages, less the closing NUL).
const maxVariable = 32*4096 - 1

func (p *parser) env(v value) { p.spec.Env = p.variables(v, "PORT: 8080") }

// variables reads what a program gets in its environment.
func (p *parser) variables(v value, example string) (env map[string]string) {
	p.mapping(v, example, func(v value) {
		name := v.key.Value
		switch text, ok := p.text(v, `a text; for an empty one write ""`); {
		case !variableName.MatchString(name):
			p.fault(v.key, v.path, "a variable's name has letters, digits and _ and does not begin with a digit")
		case strings.HasPrefix(strings.ToUpper(name), "PADDOCK_"):
			p.fault(v.key, v.path, "names that begin with PADDOCK_ are reserved")
		case ok && len(name)+1+len(text) > maxVariable:
			p.fault(v.node, v.path, "has %d bytes, more than the %d that a variable can have", len(text), maxVariable-1-len(name))
		case ok:
			if env == nil {
				env = map[string]string{}
			}
			env[name] = text
		}
	})
	return env
}

func (p *parser) runAs(v value) {
	if user, _ := p.choice(v, []string{AsAgent, AsRoot}); user == AsRoot {
		p.spec.RunAs = user
	}
}

// items reads a list whose entries are more than a text.
func (p *parser) items(v value, example string, most int, each func(value)) {
	switch n := len(v.node.Content); {
	case v.node.Kind != yaml.SequenceNode:
		p.wants(v, "a list such as [%s]", example)
	case n > most:
		p.fault(v.place(), v.path, "has %d entries, at most %d are allowed", n, most)
	default:
		for i, item := range v.node.Content {
			each(value{path: fmt.Sprintf("%s[%d]", v.path, i), node: item})
		}
	}
}

// whole checks what no key says alone.
func (p *parser) whole() {
	agent, hasAgent := p.at["agent"]
	command, hasCommand := p.at["command"]
	switch {
	case !hasAgent:
		p.faults = append(p.faults, Fault{Path: "agent", Message: "is missing; write one such as agent: claude-code, or demo, none or custom"})
	case p.spec.Agent == "custom" && !hasCommand:
		p.fault(agent.node, "command", "is missing; agent: custom wants the program to run, such as command: [my-agent, --acp]")
	case p.spec.Agent != "" && p.spec.Agent != "custom" && hasCommand:
		p.fault(command.key, command.path, "only agent: custom takes a command; agent is %s", p.spec.Agent)
	}
	if _, ok := p.at["image"]; ok {
		if template, both := p.at["template"]; both {
			p.fault(template.key, template.path, "stands beside image; a machine has one root file system, so name one of the two")
		}
		p.spec.Template = ""
	}
	p.checkFilesystem()
	p.checkTools()
	p.checkRepos()
	p.checkSkills()
	p.warn("run_as", p.spec.RunAs == AsRoot && p.spec.Agent != "none",
		"root can undo what keeps an agent to its rules inside its sandbox, approvals included; the sandbox, its size and egress bind it as ever")
	p.warn("idle_timeout", p.spec.KeepWarm, "has no effect with keep_warm: the session is never paused for being idle")
	for _, path := range []string{"permissions.default", "permissions.defaultAction", "permissions.rules", "permissions.filesystem", "run_as", "max_run_time", "approvals.timeout", "approvals.on_timeout"} {
		p.warn(path, p.spec.Agent == "none", "has no effect with agent: none, which runs nothing")
	}
}

// note warns about something at a place.
func (p *parser) note(line int, path, format string, args ...any) {
	p.warnings = append(p.warnings, Warning{Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
}

// warn warns about a key that is set although it does nothing.
func (p *parser) warn(path string, useless bool, message string) {
	if v, set := p.at[path]; set && useless {
		p.warnings = append(p.warnings, Warning{Line: v.key.Line, Path: path, Message: message})
	}
}
