package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/cli/transcript"
)

// paper is how a transcript is printed.
type paper string

const (
	paperMarkdown paper = "md"
	paperHTML     paper = "html"
	paperJSON     paper = "json"
)

// String, Set and Type make paper a flag.
func (p *paper) String() string { return string(*p) }
func (p *paper) Type() string   { return "format" }
func (p *paper) Set(s string) error {
	switch paper(s) {
	case paperMarkdown, paperHTML, paperJSON:
		*p = paper(s)
		return nil
	}
	return errors.New("want md, html or json")
}

func newTranscript(a *app) *cobra.Command {
	on := paperMarkdown
	cmd := &cobra.Command{
		Use:     "transcript SESSION",
		GroupID: groupSessions,
		Short:   "Print a session's history as a document to read and keep",
		Long: `Print a session's history as a document to read and keep: inputs and answers,
what tools did with their output folded, what was asked and who answered,
failures and pauses. As Markdown, or as one HTML page that needs nothing else.
It is of what is stored now; a removed session has one as long as the server
keeps its history.`,
		Example: `  paddock transcript hello
  paddock transcript hello -o html > hello.html`,
		Args: exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			d, err := a.readTranscript(cmd, c, args[0])
			if err != nil {
				return err
			}
			switch on {
			case paperHTML:
				return d.HTML(a.out)
			case paperJSON:
				return a.encode(d, "  ")
			default:
				return d.Markdown(a.out)
			}
		},
	}
	cmd.Flags().VarP(&on, "output", "o", "how to print it: md, html or json")
	// Fails only for a second one.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.CompletionFunc(words(string(paperMarkdown), string(paperHTML), string(paperJSON))))
	return cmd
}

// readTranscript reads the whole stored history.
func (a *app) readTranscript(cmd *cobra.Command, c *client.Client, ref string) (*transcript.Document, error) {
	s, err := c.Session(cmd.Context(), ref)
	if err != nil {
		return nil, err
	}
	stream, err := c.Events(cmd.Context(), s.SessionID, client.EventsOptions{ReplayOnly: true})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	d := transcript.New(s, stateWord(s), a.now())
	for {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", s.Name, err)
		}
		d.Read(e)
	}
}
