package claude

import (
	"encoding/json"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/form"
	"paddock/internal/guestapi"
)

// question is the tool by which the agent asks people.
const question = "AskUserQuestion"

// questions is the input of that tool.
type questions struct {
	Questions form.Questions `json:"questions"`
}

// question has a person answer what the agent asks, as a form.
func (a *adapter) question(p *process, t *turn, c control, f frame) {
	var in questions
	var rest map[string]json.RawMessage
	if !decode(c.Input, &in) || !decode(c.Input, &rest) || len(in.Questions) == 0 {
		p.respond(f.RequestID, permission{Behavior: "deny", Message: "the question cannot be read"})
		return
	}
	answer := func(answer guestapi.Answer) any {
		if answer.Decision != guestapi.Allow {
			if answer.Reason == "" {
				answer.Reason = "nobody answers this question; go on without the answer"
			}
			return permission{Behavior: "deny", Message: reason(answer)}
		}
		rest["answers"], _ = json.Marshal(in.answers(answer.Content)) // strings always encode
		input, _ := json.Marshal(rest)                                // JSON that was read encodes
		return permission{Behavior: "allow", Input: input}
	}
	source := guest.Source{Type: f.kind(), Raw: f.raw}
	q := ask{id: f.RequestID, call: c.ToolUseID, answer: answer}
	if t == nil || !t.say.asked(c.ToolUseID, c.ToolName, c.Input, source) {
		p.respond(f.RequestID, answer(guestapi.Answer{Decision: guestapi.Cancel}))
		return
	}
	t.raise(p, q, guestapi.Ask{
		ToolCallID: c.ToolUseID, Action: event.ActionUnspecified, Payload: f.Request,
		Details: event.AskDetails{Tool: "question", Question: in.Questions.Text(), Schema: in.Questions.Schema()},
	}, source)
}

// answers are a form's fields by question, as the agent wants them.
func (in questions) answers(content map[string]any) map[string]string {
	answers := map[string]string{}
	for i, list := range in.Questions.Answers(content) {
		answers[in.Questions[i].Question] = strings.Join(list, ", ")
	}
	return answers
}
