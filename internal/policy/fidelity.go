package policy

import "slices"

// Fidelity says how well an adapter keeps a rule; the words are the wire's.
type Fidelity string

// The fidelities.
const (
	Exact       Fidelity = "exact"       // each call that the rule means comes to it
	Degraded    Fidelity = "degraded"    // some do not
	Unsupported Fidelity = "unsupported" // none does
	Unverified  Fidelity = "unverified"  // which do is for the agent to decide
)

// Assessment is how an adapter keeps a rule, or the default.
type Assessment struct {
	Fidelity Fidelity
	Rendered Action // what becomes of the calls that do not come to the rule; of all, where it is exact
	Reason   string // why it is not exact
	Advice   string // what to do about it
}

// Mediation says which calls an adapter's agent lays before us.
type Mediation struct {
	Agent    string
	Unasked  []string // tools that it uses without asking
	Unproven bool     // it asks when it thinks fit
}

const bestEffort = "set enforcement: best-effort, or choose an agent that keeps it"

// Assess says how a rule is kept. To allow is kept by whoever asks, and by
// whoever does not.
func (m Mediation) Assess(r Rule) Assessment {
	exact := Assessment{Fidelity: Exact, Rendered: r.Action}
	if r.Action == Allow {
		return exact
	}
	if m.Unproven {
		return Assessment{Unverified, r.Action, "it holds for what agent " + m.Agent + " asks about, and which calls these are is for the agent to decide", bestEffort}
	}
	tool := plainGlob(r.Tool)
	for _, unasked := range m.Unasked {
		switch {
		case r.Tool == unasked:
			return Assessment{Unsupported, Allow, "agent " + m.Agent + " uses " + unasked + " without asking", bestEffort}
		case r.Tool == Any && !m.touches(r, unasked):
		case tool.fits(text(unasked)) > never:
			return Assessment{Degraded, r.Action, "agent " + m.Agent + " uses " + unasked + " without asking; the rest is kept", bestEffort}
		}
	}
	return exact
}

// touches says whether a rule for any tool can mean calls of one.
func (m Mediation) touches(r Rule, tool string) bool {
	for key := range r.Match {
		if !slices.Contains(Keys(tool), key) {
			return false
		}
	}
	return true
}

// Broken gives the index of the first strict rule that is not kept exactly, -1
// when there is none.
func (m Mediation) Broken(rules []Rule) int {
	return slices.IndexFunc(rules, func(r Rule) bool { return r.Enforcement == Strict && m.Assess(r).Fidelity != Exact })
}
