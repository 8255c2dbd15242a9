package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"paddock/client"
)

// words is the text of an event if it is a piece of the agent's answer.
func words(e client.Event) string {
	if e.Type != "run.token_delta" {
		return ""
	}
	var p struct {
		Text        string `json:"text"`
		IsReasoning bool   `json:"is_reasoning"`
	}
	if json.Unmarshal(e.Data, &p) != nil || p.IsReasoning {
		return ""
	}
	return p.Text
}

// say sends one input and returns the agent's answer.
func (d *show) say(ctx context.Context, text string) (string, error) {
	stream, err := d.api.Events(ctx, session, client.EventsOptions{})
	if err != nil {
		return "", fmt.Errorf("open the stream: %w", err)
	}
	defer stream.Close()
	run, err := d.api.Input(ctx, session, text)
	if err != nil {
		return "", fmt.Errorf("send %q: %w", text, err)
	}
	return listen(stream, run, func(string) bool { return false })
}

// listen collects a run's words until it completes, or until enough says so.
func listen(stream *client.EventStream, run string, enough func(string) bool) (string, error) {
	var said strings.Builder
	for {
		e, err := stream.Next()
		if err != nil {
			return said.String(), fmt.Errorf("read the stream: %w", err)
		}
		if e.RunID != run {
			continue
		}
		said.WriteString(words(e))
		switch {
		case e.Type == "run.failed":
			return said.String(), fmt.Errorf("the run failed: %s", e.Data)
		case e.Type == "run.completed" || enough(said.String()):
			return said.String(), nil
		}
	}
}

// record is what the stored history says of one run.
type record struct {
	started, completed, failed int
	words                      string
	events                     int // of the whole session
}

// history reads the whole log and checks its numbering.
func (d *show) history(ctx context.Context, run string) (record, error) {
	stream, err := d.api.Events(ctx, session, client.EventsOptions{ReplayOnly: true})
	if err != nil {
		return record{}, fmt.Errorf("open the history: %w", err)
	}
	defer stream.Close()
	var r record
	for {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, fmt.Errorf("read the history: %w", err)
		}
		r.events++
		if e.Seq != int64(r.events) {
			return r, fmt.Errorf("event %d of the history has seq %d", r.events, e.Seq)
		}
		if e.RunID != run {
			continue
		}
		r.words += words(e)
		switch e.Type {
		case "run.started":
			r.started++
		case "run.completed":
			r.completed++
		case "run.failed":
			r.failed++
		}
	}
}

// exec runs a program in the machine and returns what it printed; a code other
// than 0 is an error.
func (d *show) exec(ctx context.Context, argv ...string) (string, error) {
	o, err := d.api.Exec(ctx, session, client.ExecRequest{Argv: argv, TimeoutSeconds: 20})
	switch {
	case err != nil:
		return "", fmt.Errorf("exec %s: %w", argv[0], err)
	case o.TimedOut:
		return "", fmt.Errorf("exec %s: timed out", argv[0])
	case o.ExitCode != 0:
		return "", fmt.Errorf("exec %s: exit code %d: %s", argv[0], o.ExitCode, strings.TrimSpace(o.Stderr))
	}
	return strings.TrimSpace(o.Stdout), nil
}
