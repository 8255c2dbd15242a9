package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAbridge(t *testing.T) {
	long := strings.Repeat("a", 500)
	for name, c := range map[string]struct{ data, want string }{
		"short":          {`{"ok":true,"summary":"done"}`, `{"ok":true,"summary":"done"}`},
		"a text":         {`{"ok":true,"summary":"` + long + `","tool_call_id":"t1"}`, `{"ok":true,"summary":"` + long[:62] + `…","tool_call_id":"t1"}`},
		"an object":      {`{"input":{"command":"` + long + `","n":1},"name":"bash"}`, `{"input":{"command":"` + long[:62] + `…","n":1},"name":"bash"}`},
		"too deep":       {`{"input":{"a":{"b":"` + long + `"},"n":1}}`, `{"input":{"n":1}}`},
		"a list":         {`{"input":["` + long + `"],"name":"bash"}`, `{"name":"bash"}`},
		"escaped":        {`{"text":"` + strings.Repeat(`\u0001`, 100) + `"}`, `{"text":"` + strings.Repeat(`\u0001`, 12) + `…"}`},
		"wide":           {`{"text":"` + strings.Repeat("é", 300) + `"}`, `{"text":"` + strings.Repeat("é", 31) + `…"}`},
		"markup stays":   {`{"text":"<b>&","summary":"` + long + `"}`, `{"summary":"` + long[:62] + `…","text":"<b>&"}`},
		"not an object":  {`["` + long + `"]`, `{}`},
		"cannot be read": {`{"` + long, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			short, dropped := Abridge(json.RawMessage(c.data), 125)
			if string(short) != c.want || dropped != len(c.data)-len(c.want) {
				t.Errorf("%d dropped, left is\n%s, want\n%s", dropped, short, c.want)
			}
			if again, more := Abridge(short, 125); more != 0 || string(again) != string(short) {
				t.Errorf("again it is %s, %d more dropped", again, more)
			}
		})
	}
}

// Whatever the payload, what is left of it fits, is an object, and is whole
// where it was short.
func TestFit(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		payload := map[string]any{"tool_call_id": "t1", "ok": true}
		for i := range rapid.IntRange(0, 4).Draw(r, "fields") {
			size := rapid.SampledFrom([]int{0, 10, 1 << 10, MaxData / 3, MaxData, 2 * MaxData}).Draw(r, "size")
			text := strings.Repeat(rapid.SampledFrom([]string{"a", "é", "\x01", "<"}).Draw(r, "letter"), size)
			payload[fmt.Sprint("f", i)] = rapid.SampledFrom([]any{text, []string{text}, map[string]any{"a": text, "b": 1}}).Draw(r, "value")
		}
		data, err := json.Marshal(payload)
		if err != nil {
			r.Fatal(err)
		}
		raw := make([]byte, rapid.SampledFrom([]int{0, 1, MaxRaw, MaxRaw + 1}).Draw(r, "raw"))
		fit, dropped, fitRaw, droppedRaw := Fit(data, raw)
		var back map[string]json.RawMessage
		if err := json.Unmarshal(fit, &back); err != nil || !utf8.Valid(fit) {
			r.Fatalf("what is left cannot be read: %v", err)
		}
		if len(fit) > MaxData || dropped != len(data)-len(fit) || len(data) <= MaxData && dropped != 0 {
			r.Fatalf("%d bytes of %d are left, %d dropped", len(fit), len(data), dropped)
		}
		if len(fitRaw) > MaxRaw || droppedRaw != len(raw)-len(fitRaw) {
			r.Fatalf("%d bytes of the frame are left, %d dropped", len(fitRaw), droppedRaw)
		}
		if string(back["tool_call_id"]) != `"t1"` || string(back["ok"]) != "true" {
			r.Fatalf("short fields are %s", fit[:min(len(fit), 200)])
		}
	})
}

// A payload of countless short fields fits too.
func TestFitCountlessFields(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"f%d":1`, i)
	}
	data := json.RawMessage("{" + b.String()[1:] + "}")
	if fit, dropped, _, _ := Fit(data, nil); string(fit) != "{}" || dropped != len(data)-2 {
		t.Errorf("%d bytes are left, %d dropped", len(fit), dropped)
	}
}
