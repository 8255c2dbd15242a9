package codex

import (
	"testing"
	"unicode/utf8"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guestapi"
)

// strict is a guest.Sink that takes only what may be reported.
type strict struct {
	*testing.T
	open map[string]int // calls: 1 started, 2 completed
}

func (s *strict) valid(texts ...string) {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			s.Errorf("%q is no text", text)
		}
	}
}

func (s *strict) Begin() {}
func (s *strict) Delta(text string, _ bool, _ guest.Source) {
	if text == "" {
		s.Error("an empty piece")
	}
	s.valid(text)
}
func (s *strict) ToolStarted(t event.ToolStarted, _ guest.Source) {
	if s.open[t.ToolCallID]++; s.open[t.ToolCallID] != 1 || t.Name == "" {
		s.Errorf("started %+v", t)
	}
	s.valid(t.Name, t.Kind)
}
func (s *strict) ToolCompleted(t event.ToolCompleted, _ guest.Source) {
	if s.open[t.ToolCallID]++; s.open[t.ToolCallID] != 2 {
		s.Errorf("completed %+v", t)
	}
	s.valid(t.Summary)
}
func (s *strict) Usage(u event.Usage, _ guest.Source) {
	if min(u.Usage.Input, u.Usage.Output, u.Usage.CachedInput, u.Usage.Reasoning) < 0 {
		s.Errorf("used %+v", u)
	}
}
func (s *strict) Cost(event.Cost, guest.Source)   {}
func (s *strict) Log(l event.Log, _ guest.Source) { s.valid(l.Message) }
func (s *strict) Alive(guest.Source)              {}
func (s *strict) NewKey() string                  { return "k" }
func (s *strict) Ask(guestapi.Ask, guest.Source)  {}
