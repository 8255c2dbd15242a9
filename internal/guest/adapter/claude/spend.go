package claude

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guestapi"
)

// stepID names the one step that is accounted for: the turn.
const stepID = "turn"

// spent is what a process has used so far; it counts from its own start.
type spent struct {
	models map[string]tokens
	cost   int64 // micro-dollars
}

// usage is what a turn has used of one model.
type usage struct {
	model  string
	tokens event.Tokens
}

// since takes what a process has used by now and gives what is new in it. With a
// conversation that was cleared it counts anew.
func (s *spent) since(r result) (new []usage, cost int64) {
	sum := s.cost
	if r.Cost >= 0 && r.Cost < 1e6 { // dollars; neither NaN nor absurd
		sum = int64(math.Round(r.Cost * 1e6))
	}
	if sum < s.cost {
		*s = spent{}
	}
	for _, model := range slices.Sorted(maps.Keys(r.Models)) {
		now, before := r.Models[model], s.models[model]
		read := max(0, now.CachedRead-before.CachedRead)
		u := event.Tokens{
			Input:       max(0, now.Input-before.Input) + max(0, now.CachedWrite-before.CachedWrite) + read,
			Output:      max(0, now.Output-before.Output),
			CachedInput: read,
			Reasoning:   max(0, now.Thinking-before.Thinking),
		}
		if u != (event.Tokens{}) {
			new = append(new, usage{model, u})
		}
	}
	if r.Models != nil {
		s.models = r.Models
	}
	cost = sum - s.cost
	s.cost = sum
	return new, cost
}

// charge reports what a turn used and cost, and puts it into its end.
func (a *adapter) charge(t *turn, e end, end *guestapi.End) {
	for _, u := range e.spent {
		end.TokensIn += u.tokens.Input
		end.TokensOut += u.tokens.Output
		t.sink.Usage(event.Usage{StepID: stepID, ModelID: u.model, Usage: u.tokens}, guest.Source{Type: e.source.Type})
	}
	if e.cost == 0 {
		return // free
	}
	a.mu.Lock()
	a.total += e.cost
	total := a.total
	a.mu.Unlock()
	end.CostMicros = e.cost
	t.sink.Cost(event.Cost{RunningTotalMicros: total, DeltaMicros: e.cost}, guest.Source{Type: cmp.Or(e.source.Type, "result")})
}
