package chat

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestForm(t *testing.T) {
	for schema, want := range map[string]string{
		``:       "[{answer Answer string [] true}]",
		`"what"`: "[{answer Answer string [] true}]",
		`{"properties":{"z":{"type":"integer","title":"Zeal\u001b[1m"},"a":{"enum":["x","y"]},"m":{"type":"boolean"},"o":{"oneOf":[{"const":"p"}]}},"required":["z"]}`: "[{z Zeal integer [] true} {a a  [x y] false} {m m boolean [true false] false} {o o  [p] false}]",
	} {
		if got := fmt.Sprint(Form(json.RawMessage(schema))); got != want {
			t.Errorf("Form(%s) is %s, want %s", schema, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		field Field
		text  string
		want  string
	}{
		{Field{Type: "string"}, " blue ", "blue <nil>"},
		{Field{Title: "It", Required: true}, " ", "<nil> It is needed"},
		{Field{}, "", "<nil> <nil>"},
		{Field{Type: "integer"}, "7", "7 <nil>"},
		{Field{Title: "It", Type: "integer"}, "7.5", "<nil> It wants a value of type integer"},
		{Field{Title: "It", Type: "number"}, "seven", "<nil> It wants a value of type number"},
		{Field{Type: "number"}, "7.5", "7.5 <nil>"},
		{Field{Type: "boolean"}, "true", "true <nil>"},
		{Field{Title: "It", Type: "boolean"}, "1", "<nil> It wants a value of type boolean"},
		{Field{Title: "It", Choices: []string{"a", "b"}}, "c", "<nil> It is one of: a, b"},
	} {
		v, err := c.field.Value(c.text)
		if got := fmt.Sprintf("%v %v", v, err); got != c.want {
			t.Errorf("Value(%q) of %+v is %s, want %s", c.text, c.field, got, c.want)
		}
	}
}
