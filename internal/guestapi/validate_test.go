package guestapi

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"paddock/internal/event"
	"paddock/internal/id"
)

func TestValidate(t *testing.T) {
	run := id.New[id.Run]()
	change := func(f func(*Report)) Batch {
		r := report(7, run)
		f(&r)
		return Batch{Epoch: 2, Reports: []Report{r}}
	}
	raw := func(v any) json.RawMessage { b, _ := json.Marshal(v); return b }
	for name, c := range map[string]struct {
		batch Batch
		ok    bool
	}{
		"good":           {change(func(*Report) {}), true},
		"log, no run":    {change(func(r *Report) { r.Run, r.Kind, r.Data = "", event.RunLog, raw(event.Log{Level: "info"}) }), true},
		"end":            {change(func(r *Report) { r.Type, r.Kind, r.Data = ReportEnd, "", raw(End{Outcome: EndCompleted}) }), true},
		"ask":            {change(func(r *Report) { r.Type, r.Kind, r.Data = ReportAsk, "", raw(Ask{Key: "k", Action: event.ActionBash}) }), true},
		"empty":          {Batch{Epoch: 1}, false},
		"no epoch":       {Batch{Reports: []Report{report(1, run)}}, false},
		"gap":            {Batch{Epoch: 1, Reports: []Report{report(1, run), report(3, run)}}, false},
		"number 0":       {Batch{Epoch: 1, Reports: []Report{report(0, run)}}, false},
		"too many":       {Batch{Epoch: 1, Reports: make([]Report, MaxBatchCount+1)}, false},
		"delta, no run":  {change(func(r *Report) { r.Run = "" }), false},
		"run is none":    {change(func(r *Report) { r.Run = "sess_1" }), false},
		"host's kind":    {change(func(r *Report) { r.Kind = event.RunCompleted }), false},
		"type":           {change(func(r *Report) { r.Type = "x" }), false},
		"no data":        {change(func(r *Report) { r.Data = nil }), false},
		"data is null":   {change(func(r *Report) { r.Data = raw(nil) }), false},
		"data has type":  {change(func(r *Report) { r.Data = []byte(`{"text":1}`) }), false},
		"not UTF-8":      {change(func(r *Report) { r.Data = []byte("{\"text\":\"\xff\"}") }), false},
		"outcome":        {change(func(r *Report) { r.Type, r.Data = ReportEnd, []byte(`{"outcome":"won"}`) }), false},
		"failed without": {change(func(r *Report) { r.Type, r.Data = ReportEnd, raw(End{Outcome: EndFailed}) }), false},
		"negative":       {change(func(r *Report) { r.Type, r.Data = ReportEnd, raw(End{Outcome: EndCompleted, TokensIn: -1}) }), false},
		"keyless ask":    {change(func(r *Report) { r.Type, r.Data = ReportAsk, raw(Ask{Action: event.ActionBash}) }), false},
		"action":         {change(func(r *Report) { r.Type, r.Data = ReportAsk, raw(Ask{Key: "k", Action: "fly"}) }), false},
		"level":          {change(func(r *Report) { r.Kind, r.Data = event.RunLog, raw(event.Log{Level: "loud"}) }), false},
		"source type":    {change(func(r *Report) { r.SourceType = strings.Repeat("x", 257) }), false},
		"too long":       {change(func(r *Report) { r.SourceRaw = make([]byte, MaxReport) }), false},
	} {
		if err := c.batch.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzValidate(f *testing.F) {
	good, _ := encode(Batch{Epoch: 1, Reports: []Report{report(1, id.New[id.Run]())}})
	f.Add(good)
	f.Add([]byte(`{"epoch":1,"reports":[{"n":1,"type":"end","data":{"outcome":"failed","code":3}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var b Batch
		if json.Unmarshal(body, &b) != nil || b.Validate() != nil {
			return
		}
		for i, r := range b.Reports {
			if r.N != b.Reports[0].N+int64(i) || !json.Valid(r.Data) || !utf8.Valid(r.Data) {
				t.Errorf("validated %+v", r)
			}
		}
	})
}

func FuzzWireFault(f *testing.F) {
	f.Add([]byte(`{"code":"not_found","message":"no"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var w wireFault
		if json.Unmarshal(body, &w) != nil {
			return
		}
		got := w.fault()
		if !knownCodes[got.Code] || len(got.Message) > maxMessage || !utf8.ValidString(got.Message) || got.RetryAfter < 0 {
			t.Errorf("fault %+v", got)
		}
	})
}
