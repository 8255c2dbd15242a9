package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"paddock/client"
)

// lines is the chat without a screen: each line of standard input is a prompt
// whose run is printed to its end before the next is read.
func (l *launch) lines(cmd *cobra.Command, c *client.Client, s client.Session) error {
	l.k.client = c
	person := IsTerminal(l.a.in) && IsTerminal(l.a.err)
	if person {
		l.a.note("%s. %s A line is a prompt; Ctrl-D leaves, Ctrl-C cancels the run and leaves.", s.Name, situation(s))
	}
	in := &lineReader{a: l.a}
	for text := l.text; ; text = "" {
		if text == "" {
			if person {
				fmt.Fprint(l.a.err, "> ")
			}
			var err error
			if text, err = in.next(cmd.Context()); errors.Is(err, io.EOF) {
				if person {
					l.a.note("")
					l.a.note("%s lives on; come back with 'paddock launch %s'.", s.Name, s.Name)
				}
				return nil
			} else if err != nil {
				return err
			}
			if strings.TrimSpace(text) == "" {
				continue
			}
		}
		// A new asker for each: it keeps what belongs to one run.
		k := asker{client: c, onAsk: l.k.onAsk, reason: l.k.reason}
		s.Run = nil
		if err := l.a.prompt(cmd, &k, s, text); err != nil {
			return err
		}
	}
}

// lineReader reads standard input line by line; an interrupt ends that at once.
// It reads no further than it has to where a terminal gives single lines.
type lineReader struct {
	a    *app
	rest []byte
	end  error
}

func (r *lineReader) next(ctx context.Context) (string, error) {
	buf := make([]byte, 64<<10)
	for {
		if line, rest, ok := bytes.Cut(r.rest, []byte("\n")); ok {
			r.rest = rest
			return string(line), nil
		}
		if r.end != nil {
			line := r.rest
			if r.rest = nil; len(line) > 0 {
				return string(line), nil
			}
			return "", r.end
		}
		var n int
		if f, ok := r.a.in.(*os.File); ok {
			n, r.end = readSome(ctx, f, buf)
		} else {
			n, r.end = r.a.in.Read(buf)
		}
		r.rest = append(r.rest, buf[:n]...)
	}
}
