package server

import (
	"cmp"
	"fmt"
	"net/http"

	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/policy"
	"paddock/internal/server/gen"
)

// validatePolicy says how well a spec's agent keeps its rules. Nothing is made.
func (e *edge) validatePolicy(w http.ResponseWriter, r request) error {
	text, err := readSpec(w, r)
	if err != nil {
		return err
	}
	spec, files, err := e.engine.ValidatePolicy(text)
	if err != nil {
		return err
	}
	m, p := spec.Mediation(), spec.Permissions
	standard := m.Assess(policy.Rule{Tool: policy.Any, Action: policy.Action(p.Default)})
	answer := gen.PolicyValidation{
		Agent: spec.Agent, OK: m.Broken(p.Rules) < 0 && files.Fidelity == policy.Exact, DefaultAction: p.Default, DefaultActionVerdict: string(standard.Fidelity),
		DefaultActionRendered: string(standard.Rendered), DefaultActionReason: standard.Reason,
		Filesystem: gen.FilesystemVerdict{
			Mode: cmp.Or(p.Filesystem.Mode, environment.Unrestricted), AllowWrite: p.Filesystem.AllowWrite,
			Verdict: string(files.Fidelity), Reason: files.Reason, Suggestion: files.Advice,
		},
	}
	for i, rule := range p.Rules {
		a := m.Assess(rule)
		answer.Verdicts = append(answer.Verdicts, gen.PolicyVerdict{
			Rule: gen.PolicyRule{
				ID: fmt.Sprintf("permissions.rules[%d]", i), Tool: rule.Tool, Match: rule.Match, Action: string(rule.Action), Enforcement: string(rule.Enforcement),
			},
			Verdict: string(a.Fidelity), Rendered: string(a.Rendered), Reason: a.Reason, Suggestion: a.Advice,
		})
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// readSpec reads a spec that stands alone: as YAML, or in JSON as a key.
func readSpec(w http.ResponseWriter, r request) ([]byte, error) {
	media := contentType(r.Request)
	switch media {
	case "application/x-yaml", "application/yaml", "text/yaml", "application/json":
	default:
		return nil, fault.New(fault.UnsupportedMediaType, "the body is %.64q; send a spec as application/yaml", media)
	}
	text, err := readBody(w, r.Request, maxSpec)
	if err != nil || media != "application/json" {
		return text, err
	}
	var want gen.ValidatePolicy
	if err := decodeStrict(text, &want); err != nil {
		return nil, err
	}
	return []byte(want.ManifestYAML), nil
}
