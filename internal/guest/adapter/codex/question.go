package codex

import (
	"encoding/json"
	"fmt"
	"strings"

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
		Tool: "question", Question: params.text(), Schema: params.form(),
	}})
}

// text is what is asked, for people.
func (in inputParams) text() string {
	var list []string
	for _, q := range in.Questions {
		list = append(list, q.Question)
	}
	return strings.Join(list, "\n")
}

// field is the name of a question's field in the form: its heading, unless two
// have the same.
func (in inputParams) field(i int) string {
	name := in.Questions[i].Header
	for j, q := range in.Questions {
		if name == "" || i != j && q.Header == name {
			return fmt.Sprintf("answer %d", i+1)
		}
	}
	return name
}

// form is the JSON schema of the answers.
func (in inputParams) form() json.RawMessage {
	fields, required := map[string]any{}, []string{}
	for i, q := range in.Questions {
		field := map[string]any{"type": "string", "title": q.Question}
		var labels, choices []string
		for _, o := range q.Options {
			labels = append(labels, o.Label)
			choices = append(choices, strings.TrimSuffix(o.Label+": "+o.Description, ": "))
		}
		if len(labels) > 0 {
			field["enum"], field["description"] = labels, strings.Join(choices, "\n")
		}
		fields[in.field(i)] = field
		required = append(required, in.field(i))
	}
	return object(map[string]any{"type": "object", "properties": fields, "required": required})
}

// answers are a form's fields by question, as the agent wants them.
func (in inputParams) answers(content map[string]any) inputResult {
	r := inputResult{Answers: map[string]inputAnswer{}}
	for i, q := range in.Questions {
		switch v := content[in.field(i)].(type) {
		case nil:
		case []any:
			var list []string
			for _, one := range v {
				list = append(list, fmt.Sprint(one))
			}
			r.Answers[q.ID] = inputAnswer{list}
		default:
			r.Answers[q.ID] = inputAnswer{[]string{fmt.Sprint(v)}}
		}
	}
	return r
}
