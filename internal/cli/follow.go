package cli

import (
	"context"
	"errors"
	"io"

	"paddock/client"
)

// follow reads a stream to the end of the turn's run, prints it, and lets ask
// deal with what the agent asks; ask may be nil.
func (t *turn) follow(ctx context.Context, stream *client.EventStream, ask func(context.Context, client.Event) error) error {
	for {
		e, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return exitWith(exitFailed, "the history ended before the run did; 'paddock show %s' says how the session is", t.session)
		case err != nil && ctx.Err() != nil:
			t.endLine(t.a.out)
			t.a.note("The run goes on: 'paddock run watch %s %s' shows it, 'paddock cancel %s' ends it.", t.session, t.run, t.session)
			return errInterrupted
		case err != nil:
			return err
		case e.RunID != t.run:
			continue
		}
		if err := t.show(e); err != nil {
			return err
		}
		if done, err := t.ended(e); done {
			return err
		}
		if e.Type == "run.human_input_requested" && ask != nil {
			if err := ask(ctx, e); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}
