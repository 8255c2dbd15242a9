package engine

import (
	"fmt"

	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/policy"
	"paddock/internal/session"
)

// ValidatePolicy reads a spec and says nothing but what is wrong with it. How
// well its agent keeps each rule follows from the spec (see environment.Spec).
func ValidatePolicy(text []byte) (environment.Spec, error) {
	spec, _, err := environment.Parse(text, session.CheckName)
	if err != nil {
		return spec, fault.New(fault.BadRequest, "%s", err)
	}
	return spec, nil
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
