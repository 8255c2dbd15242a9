package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"paddock/internal/plain"
)

// Field is one thing that a question wants to know.
type Field struct {
	Name     string
	Title    string   // for a person
	Type     string   // of JSON schema: string, integer, number, boolean, …
	Choices  []string // when it is one of a few
	Required bool
}

// defaultField holds the answer to a question without a form.
const defaultField = "answer"

// Form reads what the answer to a question has to fit, in the order of its
// schema.
func Form(schema json.RawMessage) []Field {
	var form struct {
		Properties ordered  `json:"properties"`
		Required   []string `json:"required"`
	}
	_ = json.Unmarshal(schema, &form)
	var fields []Field
	for _, name := range form.Properties.names {
		var p struct {
			Type  string   `json:"type"`
			Title string   `json:"title"`
			Enum  []string `json:"enum"`
			OneOf []struct {
				Const string `json:"const"`
			} `json:"oneOf"`
		}
		_ = json.Unmarshal(form.Properties.values[name], &p)
		f := Field{Name: name, Title: plain.CleanLine(p.Title), Type: p.Type, Choices: p.Enum, Required: slices.Contains(form.Required, name)}
		if f.Title == "" {
			f.Title = plain.CleanLine(name)
		}
		for _, one := range p.OneOf {
			f.Choices = append(f.Choices, one.Const)
		}
		if f.Type == "boolean" {
			f.Choices = []string{"true", "false"}
		}
		fields = append(fields, f)
	}
	if len(fields) == 0 {
		fields = []Field{{Name: defaultField, Title: "Answer", Type: "string", Required: true}}
	}
	return fields
}

// Value reads what a person typed. The error is a sentence for them.
func (f Field) Value(text string) (any, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "" && f.Required:
		return nil, fmt.Errorf("%s is needed", f.Title)
	case text == "":
		return nil, nil
	case f.Type != "integer" && f.Type != "number" && f.Type != "boolean":
		if len(f.Choices) > 0 && !slices.Contains(f.Choices, text) {
			return nil, fmt.Errorf("%s is one of: %s", f.Title, plain.CleanLine(strings.Join(f.Choices, ", ")))
		}
		return text, nil
	}
	var value any
	err := json.Unmarshal([]byte(text), &value)
	ok := err == nil
	switch v := value.(type) {
	case bool:
		ok = ok && f.Type == "boolean"
	case float64:
		ok = ok && f.Type != "boolean" && (f.Type == "number" || v == float64(int64(v)))
	default:
		ok = false
	}
	if !ok {
		return nil, fmt.Errorf("%s wants a value of type %s", f.Title, f.Type)
	}
	return value, nil
}

// ordered is a JSON object that keeps the order of its names.
type ordered struct {
	names  []string
	values map[string]json.RawMessage
}

// UnmarshalJSON reads an object.
func (o *ordered) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &o.values); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
		if text, ok := name.(string); ok && !slices.Contains(o.names, text) {
			o.names = append(o.names, text)
		}
	}
	return nil
}
