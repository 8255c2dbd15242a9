package guestapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/id"
)

// Validate says whether a batch is what a guest may send: an epoch, consecutive
// numbers, sizes within the limits, known words, and payloads that decode as
// what they claim to be. The error is a BadRequest or TooLarge fault. Whether
// the numbers fit what is stored, and whether the run exists, the host decides.
func (b Batch) Validate() error {
	if b.Epoch < 1 {
		return fault.New(fault.BadRequest, "the batch has epoch %d", b.Epoch)
	}
	if n := len(b.Reports); n == 0 || n > MaxBatchCount {
		return fault.New(fault.BadRequest, "the batch has %d reports; 1 to %d are possible", n, MaxBatchCount)
	}
	for i, r := range b.Reports {
		if want := b.Reports[0].N + int64(i); r.N != want || r.N < 1 {
			return fault.New(fault.BadRequest, "report %d has number %d, not %d", i, r.N, want)
		}
		if n := len(r.Data) + len(r.SourceRaw); n > MaxReport {
			return fault.New(fault.TooLarge, "report %d is %d bytes long; at most %d are possible", r.N, n, MaxReport)
		}
		if err := r.validate(); err != nil {
			return fault.Wrap(err, fault.BadRequest, "report %d is not what a guest may send", r.N)
		}
	}
	return nil
}

func (r Report) validate() error {
	if len(r.SourceType) > 256 || !utf8.ValidString(r.SourceType) {
		return fmt.Errorf("source_type is no short text")
	}
	if r.Run != "" {
		if _, err := id.Parse[id.Run](r.Run); err != nil {
			return err
		}
	} else if r.Type != ReportEvent || r.Kind != event.RunLog {
		return fmt.Errorf("only %s may belong to no run", event.RunLog)
	}
	payload, err := r.payload()
	if err != nil {
		return err
	}
	if !utf8.Valid(r.Data) || !bytes.HasPrefix(r.Data, []byte("{")) {
		return fmt.Errorf("data is no JSON object in UTF-8")
	}
	if err := json.Unmarshal(r.Data, payload); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return checkWords(payload)
}

// payload gives a pointer to a zero value of the type that the data must have.
func (r Report) payload() (any, error) {
	switch r.Type {
	case ReportAsk:
		return new(Ask), nil
	case ReportEnd:
		return new(End), nil
	case ReportEvent:
		if !slices.Contains(GuestKinds, r.Kind) {
			return nil, fmt.Errorf("kind %q is not for guests", clip(string(r.Kind), 64))
		}
		switch r.Kind {
		case event.TokenDelta:
			return new(event.Delta), nil
		case event.ToolCallStarted:
			return new(event.ToolStarted), nil
		case event.ToolCallCompleted:
			return new(event.ToolCompleted), nil
		case event.UsageRecorded:
			return new(event.Usage), nil
		case event.CostAccrued:
			return new(event.Cost), nil
		case event.RunLog:
			return new(event.Log), nil
		}
	}
	return nil, fmt.Errorf("type %q kind %q is unknown", clip(string(r.Type), 64), clip(string(r.Kind), 64))
}

func checkWords(payload any) error {
	switch p := payload.(type) {
	case *Ask:
		if p.Key == "" || len(p.Key) > 256 {
			return fmt.Errorf("the ask has no key of at most 256 bytes")
		}
		if p.Action != event.ActionUnspecified && p.Action != event.ActionBash && p.Action != event.ActionWriteOutside {
			return fmt.Errorf("action %q is unknown", clip(string(p.Action), 64))
		}
	case *End:
		if p.Outcome != EndCompleted && p.Outcome != EndFailed && p.Outcome != EndCancelled {
			return fmt.Errorf("outcome %q is unknown", clip(string(p.Outcome), 64))
		}
		if p.TokensIn < 0 || p.TokensOut < 0 || p.CostMicros < 0 {
			return fmt.Errorf("a count is negative")
		}
		if p.Outcome == EndFailed && (p.Code < event.ModelError || p.Code > event.Internal) {
			return fmt.Errorf("failure code %d is unknown", p.Code)
		}
	case *event.Log:
		if !slices.Contains([]string{"debug", "info", "warn", "error"}, p.Level) {
			return fmt.Errorf("level %q is unknown", clip(p.Level, 64))
		}
	case *event.Usage:
		if u := p.Usage; min(u.Input, u.Output, u.CachedInput, u.Reasoning) < 0 {
			return fmt.Errorf("a count is negative")
		}
	}
	return nil
}
