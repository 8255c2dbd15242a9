package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"paddock/client"
	"paddock/internal/plain"
)

// app is one run of the command line: its streams and what the flags of the
// root command say.
type app struct {
	in       io.Reader
	out, err io.Writer
	hooks    Hooks
	getenv   func(string) string
	now      func() time.Time

	url         string
	tokenFile   string
	contextFile string
	output      format

	server  target         // last dialled, for messages
	dialled *client.Client // likewise

	patience atomic.Int32 // the interrupt that ends the process at once
}

// note says something to a person, beside the result.
func (a *app) note(text string, args ...any) { fmt.Fprintf(plain.Writer(a.err), text+"\n", args...) }

// colours says whether a stream is a terminal that shows colours to a person who
// wants them.
func (a *app) colours(stream any) bool {
	return a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb" && IsTerminal(stream)
}

// IsTerminal says whether a stream is a terminal that a person looks at.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// exactly is cobra.ExactArgs with a sentence a person can act on.
func exactly(names ...string) cobra.PositionalArgs { return between(len(names), len(names)) }

func atLeast(n int) cobra.PositionalArgs { return between(n, -1) }

// between checks the number of arguments; a max of -1 means any.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef(cmd, "%s needs%s", cmd.CommandPath(), strings.Replace(cmd.Use[len(cmd.Name()):], " [flags]", "", 1))
		case most >= 0 && len(args) > most:
			return usagef(cmd, "%s does not take %q", cmd.CommandPath(), args[most])
		}
		return nil
	}
}
