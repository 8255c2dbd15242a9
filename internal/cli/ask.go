package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"paddock/client"
	"paddock/internal/plain"
)

// The ways of --on-ask; empty means: ask a person where one looks on, else stop.
const (
	onAskApprove = "approve"
	onAskReject  = "reject"
	onAskDefer   = "defer"
)

// asker answers what an agent asks in a run.
type asker struct {
	t      *turn
	client *client.Client
	onAsk  string
	reason string
}

// answer deals with one request. It ends the command when the answer is left to
// somebody else.
func (k *asker) answer(ctx context.Context, e client.Event) error {
	p := client.ReadPayload(e)
	switch {
	case k.onAsk == onAskApprove && p.Details.Question == "":
		return k.send(ctx, p.HITLID, client.AnswerRequest{Outcome: client.OutcomeApprove, Reason: k.reason})
	case k.onAsk == onAskReject:
		return k.send(ctx, p.HITLID, client.AnswerRequest{Outcome: client.OutcomeReject, Reason: k.reason})
	case k.onAsk == onAskDefer:
		if err := k.send(ctx, p.HITLID, client.AnswerRequest{Outcome: client.OutcomeDefer, Reason: k.reason}); err != nil {
			return err
		}
		return k.left(p)
	case k.onAsk == "" && IsTerminal(k.t.a.in) && IsTerminal(k.t.a.err):
		return k.askPerson(ctx, p)
	default:
		return k.left(p)
	}
}

// left says how the waiting run goes on.
func (k *asker) left(p client.Payload) error {
	how := "paddock approve " + k.t.session + " " + p.HITLID
	if p.Details.Question != "" {
		how += " --answer …"
	}
	return exitWith(exitConflict, "run %s waits for a person: %s\nAnswer with '%s' (or --reject); then 'paddock run watch %s %s' shows the rest.",
		k.t.run, question(p.Details), how, k.t.session, k.t.run)
}

// send answers; that somebody else was quicker is no fault.
func (k *asker) send(ctx context.Context, id string, answer client.AnswerRequest) error {
	err := k.client.Answer(ctx, k.t.session, id, answer)
	if client.IsCode(err, "conflict") {
		k.t.line("  " + err.Error())
		return nil
	}
	return err
}

// askPerson asks on the terminal.
func (k *asker) askPerson(ctx context.Context, p client.Payload) error {
	if p.Details.Question != "" {
		return k.askForm(ctx, p)
	}
	for {
		line, err := k.readLine(ctx, "  [a]pprove, for the [s]ession, [r]eject, [d]efer? ")
		if err != nil {
			return err
		}
		word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		answer := client.AnswerRequest{Reason: first(strings.TrimSpace(reason), k.reason)}
		switch strings.ToLower(word) {
		case "a", "y", "approve", "yes":
			answer.Outcome = client.OutcomeApprove
		case "s", "session":
			answer.Outcome, answer.ForSession = client.OutcomeApprove, true
		case "r", "n", "reject", "no":
			answer.Outcome = client.OutcomeReject
		case "d", "defer":
			answer.Outcome = client.OutcomeDefer
		default:
			continue
		}
		if err := k.send(ctx, p.HITLID, answer); err != nil || answer.Outcome != client.OutcomeDefer {
			return err
		}
		return k.left(p)
	}
}

func (k *asker) askForm(ctx context.Context, p client.Payload) error {
	form := readForm(p.Details)
	var given []string
	for _, name := range form.names {
		line, err := k.readLine(ctx, "  "+name+": ")
		if err != nil {
			return err
		}
		given = append(given, name+"="+line)
	}
	content, err := form.content(given)
	if err != nil {
		return err
	}
	return k.send(ctx, p.HITLID, client.AnswerRequest{Outcome: client.OutcomeApprove, Content: content})
}

// readLine reads one line off the terminal; an interrupt ends it at once.
func (k *asker) readLine(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(k.t.a.err, plain.Line(prompt))
	buf := make([]byte, 4096)
	n, err := readSome(ctx, k.t.a.in.(*os.File), buf)
	if err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return strings.TrimRight(string(buf[:n]), "\r\n"), nil
}

// form is what a question wants to be answered with.
type form struct {
	names []string          // its fields, by name
	types map[string]string // JSON schema type of each
}

// defaultField holds the answer to a question without a form.
const defaultField = "answer"

func readForm(d client.ApprovalDetails) form {
	var schema struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(d.Schema, &schema)
	f := form{types: map[string]string{}}
	for name, property := range schema.Properties {
		f.names = append(f.names, name)
		f.types[name] = property.Type
	}
	slices.Sort(f.names)
	if len(f.names) == 0 {
		f.names = []string{defaultField}
	}
	return f
}

// content reads answers of the form NAME=VALUE, or VALUE alone when the form
// has one field. Numbers and booleans are read as such where the form wants
// them.
func (f form) content(answers []string) (map[string]any, error) {
	content := map[string]any{}
	for _, text := range answers {
		name, value, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(f.names, name) {
			if len(f.names) != 1 {
				return nil, exitWith(exitUsage, "answer %q: want NAME=VALUE with NAME one of %s", text, strings.Join(f.names, ", "))
			}
			name, value = f.names[0], text
		}
		content[name] = value
		switch f.types[name] {
		case "integer", "number", "boolean":
			var typed any
			if err := json.Unmarshal([]byte(value), &typed); err != nil {
				return nil, exitWith(exitUsage, "answer %s=%q: want a %s", name, value, f.types[name])
			}
			content[name] = typed
		}
	}
	return content, nil
}
