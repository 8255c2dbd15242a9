package claude

import (
	"encoding/json"
	"fmt"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guestapi"
)

// question is the tool by which the agent asks people.
const question = "AskUserQuestion"

// questions is the input of that tool.
type questions struct {
	Questions []struct {
		Question string `json:"question"`
		Header   string `json:"header"`
		Multi    bool   `json:"multiSelect"`
		Options  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
	} `json:"questions"`
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
		Details: event.AskDetails{Tool: "question", Question: in.text(), Schema: in.form()},
	}, source)
}

// text is what is asked, for people.
func (in questions) text() string {
	var list []string
	for _, q := range in.Questions {
		list = append(list, q.Question)
	}
	return strings.Join(list, "\n")
}

// field is the name of a question's field in the form: its heading, unless two
// have the same.
func (in questions) field(i int) string {
	name := in.Questions[i].Header
	for j, q := range in.Questions {
		if name == "" || i != j && q.Header == name {
			return fmt.Sprintf("answer %d", i+1)
		}
	}
	return name
}

// form is the JSON schema of the answers.
func (in questions) form() json.RawMessage {
	fields, required := map[string]any{}, []string{}
	for i, q := range in.Questions {
		var labels, choices []string
		for _, o := range q.Options {
			labels = append(labels, o.Label)
			choice := o.Label
			if o.Description != "" {
				choice += ": " + o.Description
			}
			choices = append(choices, choice)
		}
		one := map[string]any{"type": "string"}
		if len(labels) > 0 {
			one["enum"] = labels
		}
		field := one
		if q.Multi {
			field = map[string]any{"type": "array", "items": one}
		}
		field["title"] = q.Question
		if len(choices) > 0 {
			field["description"] = strings.Join(choices, "\n")
		}
		fields[in.field(i)] = field
		required = append(required, in.field(i))
	}
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": fields, "required": required}) // strings always encode
	return schema
}

// answers are a form's fields by question, as the agent wants them.
func (in questions) answers(content map[string]any) map[string]string {
	answers := map[string]string{}
	for i, q := range in.Questions {
		switch v := content[in.field(i)].(type) {
		case nil:
		case []any:
			var list []string
			for _, one := range v {
				list = append(list, fmt.Sprint(one))
			}
			answers[q.Question] = strings.Join(list, ", ")
		default:
			answers[q.Question] = fmt.Sprint(v)
		}
	}
	return answers
}
