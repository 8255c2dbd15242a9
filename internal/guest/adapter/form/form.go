// Package form makes one form of the questions that an agent asks at once, and
// reads the answers out of it.
package form

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Question is one of them, in the words that Claude Code and Codex share.
type Question struct {
	ID       string `json:"id"`          // Codex's
	Header   string `json:"header"`      // a word or two
	Question string `json:"question"`    // what is asked
	Multi    bool   `json:"multiSelect"` // Claude Code's: several answers may be chosen
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"` // none: any text answers it
}

// Questions are those that are asked together.
type Questions []Question

// Text is what is asked, for people.
func (q Questions) Text() string {
	var list []string
	for _, one := range q {
		list = append(list, one.Question)
	}
	return strings.Join(list, "\n")
}

// field is the name of a question's field in the form: its heading, unless two
// have the same.
func (q Questions) field(i int) string {
	name := q[i].Header
	for j, other := range q {
		if name == "" || i != j && other.Header == name {
			return fmt.Sprintf("answer %d", i+1)
		}
	}
	return name
}

// Schema is the JSON schema of the answers.
func (q Questions) Schema() json.RawMessage {
	fields, required := map[string]any{}, []string{}
	for i, one := range q {
		var labels, choices []string
		for _, o := range one.Options {
			labels = append(labels, o.Label)
			choices = append(choices, strings.TrimSuffix(o.Label+": "+o.Description, ": "))
		}
		value := map[string]any{"type": "string"}
		if len(labels) > 0 {
			value["enum"] = labels
		}
		field := value
		if one.Multi {
			field = map[string]any{"type": "array", "items": value}
		}
		field["title"] = one.Question
		if len(choices) > 0 {
			field["description"] = strings.Join(choices, "\n")
		}
		fields[q.field(i)] = field
		required = append(required, q.field(i))
	}
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": fields, "required": required}) // strings always encode
	return schema
}

// Answers are a form's fields as texts, by the index of the question; those that
// were left out are missing.
func (q Questions) Answers(content map[string]any) map[int][]string {
	answers := map[int][]string{}
	for i := range q {
		switch v := content[q.field(i)].(type) {
		case nil:
		case []any:
			list := []string{}
			for _, one := range v {
				list = append(list, fmt.Sprint(one))
			}
			answers[i] = list
		default:
			answers[i] = []string{fmt.Sprint(v)}
		}
	}
	return answers
}
