package engine

import (
	"fmt"

	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/policy"
	"paddock/internal/session"
)

// ValidatePolicy reads a spec and says what is wrong with it, and how well its
// permissions.filesystem is kept here. How well its agent keeps each rule follows
// from the spec (see environment.Spec).
func (e *Engine) ValidatePolicy(text []byte) (environment.Spec, policy.Assessment, error) {
	spec, _, err := environment.Parse(text, session.CheckName)
	if err != nil {
		return spec, policy.Assessment{}, fault.New(fault.BadRequest, "%s", err)
	}
	return spec, e.assessFilesystem(spec), nil
}

// assessFilesystem says how permissions.filesystem is kept. The sandbox's kernel
// keeps it, whatever the agent is, or nobody does.
func (e *Engine) assessFilesystem(spec environment.Spec) policy.Assessment {
	can := e.driver.Capabilities()
	if !spec.Permissions.Filesystem.Restricts() || can.Confine {
		return policy.Assessment{Fidelity: policy.Exact}
	}
	return policy.Assessment{
		Fidelity: policy.Unsupported, Reason: fmt.Sprintf("sandboxes of kind %s cannot keep the agent from writing", can.Isolation),
		Advice: "leave permissions.filesystem out, or use a server whose sandboxes can",
	}
}

// checkFilesystem refuses a spec whose permissions.filesystem nobody would keep.
func (e *Engine) checkFilesystem(spec environment.Spec) error {
	if a := e.assessFilesystem(spec); a.Fidelity != policy.Exact {
		return fault.New(fault.NotSupported, "permissions.filesystem.mode is %s, and %s; %s", spec.Permissions.Filesystem.Mode, a.Reason, a.Advice)
	}
	return nil
}

// checkRules refuses a spec with a strict rule that its agent cannot keep, and
// warns of the other rules that are not kept in full.
func checkRules(spec environment.Spec) (warnings []string, err error) {
	m, rules := spec.Mediation(), spec.Permissions.Rules
	if i := m.Broken(rules); i >= 0 {
		a := m.Assess(rules[i])
		return nil, fault.New(fault.BadRequest, "permissions.rules[%d] (%s) is strict, and agent %s cannot keep it: %s; %s",
			i, rules[i], spec.Agent, a.Reason, a.Advice)
	}
	for i, r := range rules {
		if a := m.Assess(r); a.Fidelity != policy.Exact {
			warnings = append(warnings, fmt.Sprintf("permissions.rules[%d] (%s) is %s: %s", i, r, a.Fidelity, a.Reason))
		}
	}
	return warnings, nil
}
