package form

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForm(t *testing.T) {
	var q Questions
	if err := json.Unmarshal([]byte(`[
		{"id":"a","header":"Colour","question":"Which colour?","options":[{"label":"Red","description":"warm"},{"label":"Blue"}]},
		{"header":"Tags","question":"Which tags?","multiSelect":true,"options":[{"label":"x"}]},
		{"header":"Tags","question":"Why?"},
		{"question":"What else?"}]`), &q); err != nil {
		t.Fatal(err)
	}
	if got := q.Text(); got != "Which colour?\nWhich tags?\nWhy?\nWhat else?" {
		t.Errorf("asked is %q", got)
	}
	var schema map[string]any
	if err := json.Unmarshal(q.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type": "object", "required": []any{"Colour", "answer 2", "answer 3", "answer 4"},
		"properties": map[string]any{
			"Colour":   map[string]any{"type": "string", "title": "Which colour?", "enum": []any{"Red", "Blue"}, "description": "Red: warm\nBlue"},
			"answer 2": map[string]any{"type": "array", "title": "Which tags?", "items": map[string]any{"type": "string", "enum": []any{"x"}}, "description": "x"},
			"answer 3": map[string]any{"type": "string", "title": "Why?"},
			"answer 4": map[string]any{"type": "string", "title": "What else?"},
		},
	}
	if diff := cmp.Diff(want, schema); diff != "" {
		t.Error(diff)
	}
	answers := q.Answers(map[string]any{"Colour": "Red", "answer 2": []any{"x", 2}, "answer 4": 3, "Tags": "nobody's"})
	if diff := cmp.Diff(map[int][]string{0: {"Red"}, 1: {"x", "2"}, 3: {"3"}}, answers); diff != "" {
		t.Error(diff)
	}
}
