package acp

import (
	"encoding/json"
	"math"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guestapi"
)

// stepID names the one step that agents of this protocol account for: the turn.
const stepID = "turn"

// cumulative names the agents (agentInfo.name, in lower case) whose usage counts
// from the start of their process instead of the turn. Measured.
var cumulative = map[string]bool{"copilot": true}

// perTurn turns what an agent has counted into what the turn used.
func (p *process) perTurn(tokens event.Tokens) event.Tokens {
	if !cumulative[strings.ToLower(p.capabilities.Info.Name)] {
		return tokens
	}
	before := p.counted
	p.counted = tokens
	tokens.Input = max(0, tokens.Input-before.Input)
	tokens.Output = max(0, tokens.Output-before.Output)
	tokens.CachedInput = max(0, tokens.CachedInput-before.CachedInput)
	tokens.Reasoning = max(0, tokens.Reasoning-before.Reasoning)
	return tokens
}

// spend reports what the turn used, from the best source that the agent has,
// and puts it into the end.
func (a *adapter) spend(t *turn, result promptResult, source guest.Source, end *guestapi.End) {
	if tokens, model, ok := turnTokens(result, t.say.spend); ok {
		if tokens = t.Process.perTurn(tokens); tokens != (event.Tokens{}) {
			end.TokensIn, end.TokensOut = tokens.Input, tokens.Output
			t.sink.Usage(event.Usage{StepID: stepID, ModelID: model, Usage: tokens}, source)
		}
	}
	a.charge(t, end)
}

// charge reports what the turn cost, where the agent tells it, and puts it into
// the end: also of a turn that failed.
func (a *adapter) charge(t *turn, end *guestapi.End) {
	u := t.say.spend
	if u == nil || u.Cost == nil || u.Cost.Currency != "USD" || !(u.Cost.Amount >= 0 && u.Cost.Amount < 1e6) {
		return
	}
	a.mu.Lock()
	delta := a.bill.add(t.Process, int64(math.Round(u.Cost.Amount*1e6)))
	total := a.bill.total
	a.mu.Unlock()
	if delta == 0 {
		return // free
	}
	end.CostMicros = delta
	t.sink.Cost(event.Cost{RunningTotalMicros: total, DeltaMicros: delta}, guest.Source{Type: "usage_update"})
}

// bill adds up what a conversation cost, in micro-dollars. Agents tell the sum of
// the conversation; one that was restarted goes on with it or counts anew.
type bill struct {
	total   int64
	told    int64    // by the agent, last
	process *process // that told it
}

// add takes the sum an agent's process tells, and gives what is new in it.
func (b *bill) add(p *process, sum int64) (delta int64) {
	if p != b.process && sum < b.told {
		b.told = 0 // it counts anew
	}
	b.process = p
	if sum <= b.told {
		return 0 // what was told is not taken back
	}
	delta = sum - b.told
	b.told, b.total = sum, b.total+delta
	return delta
}

// turnTokens reads the answer's usage, else the last usage_update (the tokens of
// the context, all that some agents tell), else the quota of a vendor's field.
func turnTokens(result promptResult, last *update) (tokens event.Tokens, model string, ok bool) {
	if u := result.Usage; u != nil && u.Input >= 0 && u.Output >= 0 && u.CachedRead >= 0 && u.Thought >= 0 {
		return event.Tokens{Input: u.Input, Output: u.Output, CachedInput: u.CachedRead, Reasoning: u.Thought}, "", true
	}
	if last != nil && last.Used > 0 {
		return event.Tokens{Input: last.Used}, "", true
	}
	var meta struct {
		Quota struct {
			Tokens struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
			Models []struct {
				Model string `json:"model"`
			} `json:"model_usage"`
		} `json:"quota"`
	}
	if json.Unmarshal(result.Meta, &meta) != nil {
		return event.Tokens{}, "", false
	}
	q := meta.Quota
	if q.Tokens.Input < 0 || q.Tokens.Output < 0 || q.Tokens.Input+q.Tokens.Output == 0 {
		return event.Tokens{}, "", false
	}
	if len(q.Models) == 1 {
		model = q.Models[0].Model
	}
	return event.Tokens{Input: q.Tokens.Input, Output: q.Tokens.Output}, model, true
}
