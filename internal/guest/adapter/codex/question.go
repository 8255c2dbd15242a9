package codex

import (
	"encoding/json"

	"paddock/internal/event"
	"paddock/internal/guest/adapter/rpc"
	"paddock/internal/guestapi"
)

// userInput has a person answer what the agent asks, as a form.
func (a *adapter) userInput(p *process, t *turn, f rpc.Frame) {
	var params inputParams
	if err := json.Unmarshal(f.Params, &params); err != nil || len(params.Questions) == 0 {
		p.Refuse(f.ID, rpc.InvalidParams, "invalid params: there is no question that can be read")
		return
	}
	answer := func(answer guestapi.Answer) any {
		if answer.Decision != guestapi.Allow {
			return inputResult{Answers: map[string]inputAnswer{}}
		}
		return params.answers(answer.Content)
	}
	a.question(p, t, f, answer, guestapi.Ask{ToolCallID: params.ItemID, Details: event.AskDetails{
		Tool: "question", Question: params.Questions.Text(), Schema: params.Questions.Schema(),
	}})
}

// answers are a form's fields by question, as the agent wants them.
func (in inputParams) answers(content map[string]any) inputResult {
	r := inputResult{Answers: map[string]inputAnswer{}}
	for i, list := range in.Questions.Answers(content) {
		r.Answers[in.Questions[i].ID] = inputAnswer{list}
	}
	return r
}
