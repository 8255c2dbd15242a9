package engine

import (
	"encoding/json"
	"slices"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

// noticeKinds are the events that somebody outside is told of: something waits,
// or a run has ended.
var noticeKinds = []event.Kind{event.HumanInputRequested, event.RunCompleted, event.RunFailed}

// noticeBody is a notice on the wire, in the form of Standard Webhooks.
type noticeBody struct {
	Type      event.Kind `json:"type"`
	Timestamp time.Time  `json:"timestamp"`
	Data      noticeData `json:"data"`
}

type noticeData struct {
	SessionName string         `json:"session_name"`
	Event       event.Envelope `json:"event"`
}

// notice stores, with the events, what is to be told of them by each channel.
func (c *change) notice(events []event.Event) error {
	for _, ev := range events {
		if len(c.tell) == 0 || !slices.Contains(noticeKinds, ev.Kind) {
			continue
		}
		body, err := json.Marshal(noticeBody{ev.Kind, ev.At.UTC(), noticeData{c.s.Name, slender(ev).Envelope(false)}})
		if err != nil {
			return err
		}
		for _, k := range c.tell {
			n := store.Notice{
				ID: id.New[id.Notice](), Channel: k.channel.Name(), Session: c.s.ID, Kind: ev.Kind, Body: body, CreatedAt: c.now, DueAt: c.now,
			}
			if err := c.tx.SaveNotice(n); err != nil {
				return err
			}
			c.later(k.rouse)
		}
	}
	return nil
}

// slender is an event without the agent's own request, which may be long and
// says nothing that the details do not.
func slender(ev event.Event) event.Event {
	var asked event.Asked
	if ev.Kind == event.HumanInputRequested && json.Unmarshal(ev.Data, &asked) == nil {
		asked.Payload = nil
		if short, err := json.Marshal(asked); err == nil {
			ev.Data = short
		}
	}
	return ev
}
