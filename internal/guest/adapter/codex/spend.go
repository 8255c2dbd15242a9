package codex

import (
	"strconv"

	"paddock/internal/event"
	"paddock/internal/guest"
)

// bill adds up what a turn used: the requests to the model, of which Codex tells
// the last one and the sum of the conversation. It may tell the same one twice.
type bill struct {
	model    string
	total    tokenCount // of the conversation, as told last
	requests int
	in, out  int64
}

// spend reports what a request used.
func (x *translation) spend(n *notice, source guest.Source) {
	last, total := n.TokenUsage.Last, n.TokenUsage.Total
	if total == x.bill.total || min(last.Input, last.Output, last.Cached, last.Reasoning) < 0 || last == (tokenCount{}) {
		return
	}
	b := &x.bill
	b.total = total
	b.requests++
	b.in, b.out = b.in+last.Input, b.out+last.Output
	x.sink.Usage(event.Usage{
		StepID: "request-" + strconv.Itoa(b.requests), ModelID: b.model,
		Usage: event.Tokens{Input: last.Input, Output: last.Output, CachedInput: last.Cached, Reasoning: last.Reasoning},
	}, source)
}

// spent is what the turn used so far.
func (x *translation) spent() (in, out int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bill.in, x.bill.out
}
