package cli

import (
	"fmt"
	"io"
	"strings"

	"paddock/client"
	"paddock/internal/plain"
)

// turn prints one run as it goes: the agent's words to standard output, what it
// does to standard error, so that the words can be kept in a file.
type turn struct {
	a       *app
	session string // how the person names it
	run     string
	words   bool // some were printed
	midLine bool // the last of them did not end its line
	shared  bool // both streams are one terminal
}

func (a *app) newTurn(session, run string) *turn {
	return &turn{a: a, session: session, run: run, shared: IsTerminal(a.out) && IsTerminal(a.err)}
}

// show prints one event of the run.
func (t *turn) show(e client.Event) error {
	if t.a.json() {
		return t.a.line(e)
	}
	p := client.ReadPayload(e)
	switch e.Type {
	case "run.token_delta":
		t.say(p)
	case "run.tool_call_started":
		t.line("▸ " + toolLine(p))
	case "run.tool_call_completed":
		t.line("  " + toolEnd(p))
	case "run.human_input_requested":
		t.line("? " + question(p.Details))
	case "run.human_input_received":
		t.line("  " + answered(p))
	case "policy.denied":
		t.line("✗ denied: " + strings.TrimSpace(p.Tool+" "+p.Detail))
	case "run.log":
		if p.Grim() {
			t.line("! " + p.Message)
		} else if p.Notable() {
			t.line("  " + p.Message)
		}
	case "run.completed":
		if !t.words && p.Text != "" {
			t.say(client.Payload{Text: p.Text})
		}
		t.endLine(t.a.out)
	case "run.failed":
		t.endLine(t.a.out)
	}
	return nil
}

// say prints words of the agent; its thoughts only where a person looks on.
func (t *turn) say(p client.Payload) {
	if p.IsReasoning {
		if t.shared {
			text := plain.Text(p.Text)
			if t.a.colours(t.a.out) {
				text = "\x1b[2m" + text + "\x1b[0m"
			}
			fmt.Fprint(t.a.out, text)
			t.midLine = !strings.HasSuffix(p.Text, "\n")
		}
		return
	}
	fmt.Fprint(t.a.out, plain.Text(p.Text))
	t.words = true
	t.midLine = !strings.HasSuffix(p.Text, "\n")
}

// line prints something about the run.
func (t *turn) line(text string) {
	if t.shared {
		t.endLine(t.a.out)
	}
	fmt.Fprintln(t.a.err, plain.Text(text))
}

func (t *turn) endLine(w io.Writer) {
	if t.midLine {
		fmt.Fprintln(w)
		t.midLine = false
	}
}

// ended says whether an event is the run's last and, if so, how the command
// line ends.
func (t *turn) ended(e client.Event) (bool, error) {
	switch e.Type {
	case "run.completed":
		return true, nil
	case "run.failed":
		p := client.ReadPayload(e)
		switch {
		case p.Cancelled:
			return true, exitWith(exitInterrupted, "the run was cancelled: %s", first(p.Message, "no reason was given"))
		case p.Terminal:
			return true, exitWith(exitFailed, "the run failed: %s\n%s takes no more input; start a new session with 'paddock create'", p.Message, t.session)
		default:
			return true, exitWith(exitFailed, "the run failed: %s", p.Message)
		}
	}
	return false, nil
}
