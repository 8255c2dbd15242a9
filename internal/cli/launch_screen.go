package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/cli/chat"
	"paddock/internal/cli/chat/screen"
	"paddock/internal/plain"
)

// screen is the chat on a terminal. A hangup ends it in order, as SIGTERM does,
// so that the terminal is put back.
func (l *launch) screen(cmd *cobra.Command, c *client.Client, s client.Session) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP)
	defer stop()
	result, err := screen.Run(ctx,
		screen.Config{
			API: c, Session: s, Prompt: l.text, Now: l.a.now,
			Explain: func(err error) string { return plain.CleanLine(l.a.explain(err).text) },
		},
		screen.Terminal{In: l.a.in, Out: l.a.out, Env: os.Environ(), NoColor: l.noColor})
	for _, text := range result.Unsent {
		l.a.note("The server was away and may not have got this: %s", oneLine(plain.CleanLine(text), 200))
	}
	switch {
	case ctx.Err() != nil || errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, context.Canceled):
		l.comeBack(s.Name, nil)
		return errInterrupted
	case err != nil:
		return err
	case result.Ending == screen.Gone:
		return l.gone(result.Talk)
	case result.Ending == screen.Lost:
		return result.Err
	}
	l.comeBack(result.Talk.Session.Name, result.Talk)
	return nil
}

// comeBack says what goes on without the person, and how to come back.
func (l *launch) comeBack(name string, talk *chat.Conversation) {
	what := name + " lives on"
	if talk != nil {
		switch {
		case talk.Waiting():
			what = name + " waits for your answer"
		case talk.Run != nil:
			what = name + " works on"
		case talk.Session.Status == client.SessionPaused:
			what = name + " stays paused"
		}
		switch n := len(talk.Queue); n {
		case 0:
		case 1:
			what += ", 1 prompt is queued"
		default:
			what += ", " + strconv.Itoa(n) + " prompts are queued"
		}
	}
	l.a.note("%s; come back with 'paddock launch %s'.", what, name)
}

// gone says why the session ended.
func (l *launch) gone(talk *chat.Conversation) error {
	s := talk.Session
	if s.Status == client.SessionFailed {
		return exitWith(exitFailed, "session %s failed: %s\nIts history: paddock events %s", s.Name, first(s.Message, "no reason was given"), s.ID)
	}
	return exitWith(exitFailed, "session %s was removed\nIts history: paddock events %s", s.Name, s.ID)
}
