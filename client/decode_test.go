package client

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is cut up by hand is what encoding/json reads, and what it refuses is
// refused, however a line is damaged.
func TestDecodeEventIsUnmarshal(t *testing.T) {
	texts := rapid.SampledFrom([]string{"", "evt_01", "run.log", `a\"b`, `\u0001`, "é", "a\x01", "\xff", "2026-12-01T10:00:00.123456Z", "2026-12-01"})
	values := map[string]*rapid.Generator[string]{
		"timestamp": rapid.SampledFrom([]string{`"2026-12-01T10:00:00.123456Z"`, `"2026-12-01T10:00:00+01:00"`, `"2026-12-01t10:00:00Z"`, `"2026-12-01"`, `1`}),
		"data":      rapid.SampledFrom([]string{`{}`, `{"a":"}\"{"}`, `{"a":[1,{"b":null}]}`, `{"a":}`, `{"a":"\`, `[]`, `null`, `{`, `{"a" : 1 }`}),
		"":          rapid.SampledFrom([]string{"0", "7", "-1", "01", "1.5", "12345678901234567890", "null", "1e3", ""}),
	}
	rapid.Check(t, func(t *rapid.T) {
		var fields []string
		for range rapid.IntRange(0, 11).Draw(t, "fields") {
			name := rapid.SampledFrom([]string{"event_id", "session_id", "run_id", "type", "source_event_type", "timestamp", "seq",
				"truncated_bytes", "data", "source_raw", "other", "Event_ID"}).Draw(t, "name")
			value := `"` + texts.Draw(t, "text") + `"`
			switch of := values[name]; {
			case of != nil:
				value = of.Draw(t, "value")
			case name == "seq" || name == "truncated_bytes":
				value = values[""].Draw(t, "number")
			}
			fields = append(fields, `"`+name+`":`+value)
		}
		line := "{" + strings.Join(fields, rapid.SampledFrom([]string{",", ",", ",", ", ", ""}).Draw(t, "between")) + "}"
		if cut := rapid.IntRange(0, 3*len(line)).Draw(t, "cut"); cut < len(line) {
			line = line[:cut]
		}
		line += rapid.SampledFrom([]string{"", "", "", " ", "x", "}"}).Draw(t, "end")

		var want Event
		wantErr := json.Unmarshal([]byte(line), &want)
		got, err := decodeEvent([]byte(line), Event{EventID: "evt_01", Type: "run.log"})
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v, want %v", line, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nis  %+v\nnot %+v", line, got, want)
		}
	})
}

// An ordinary event is cut up by hand; nothing of the line before goes into it.
func TestDecodeOrdinaryEvent(t *testing.T) {
	line := `{"event_id":"evt_2","session_id":"sess_1","run_id":"run_1","timestamp":"2026-12-01T10:00:00.123456Z","seq":2,` +
		`"type":"run.tool_call_started","data":{"name":"bash","input":{"command":"echo \"}\" é"}},"source_event_type":"tool_call","truncated_bytes":5}`
	got, ok := cutEvent([]byte(line), Event{EventID: "evt_1", SessionID: "sess_1", RunID: "run_0", Type: "run.log", Seq: 1})
	var want Event
	if err := json.Unmarshal([]byte(line), &want); err != nil {
		t.Fatal(err)
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v\nwant %+v", ok, got, want)
	}
	if got, ok := cutEvent([]byte(`{"event_id":"evt_3"}`), got); !ok || !reflect.DeepEqual(got, Event{EventID: "evt_3"}) {
		t.Errorf("%v: %+v", ok, got)
	}
}
