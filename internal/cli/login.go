package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"paddock/client"
	"paddock/internal/clientcontext"
)

// loginResult is the JSON form of `login` and `logout`.
type loginResult struct {
	URL  string `json:"url,omitempty"`
	File string `json:"file"` // where URL and token are kept
}

func newLogin(a *app) *cobra.Command {
	var fromStdin bool
	cmd := &cobra.Command{
		Use:     "login [URL]",
		GroupID: groupServer,
		Short:   "Remember a server and its token",
		Long: `Remember a server and its token, after trying them: from then on every command of
yours goes there, unless a flag or the environment says otherwise. They are kept
in one file that nobody else may read (paddock/client.json in your configuration
folder, or what --context names).

On the machine of a server of your own there is nothing to remember: 'paddock
serve' leaves both where the command line looks.`,
		Example: `  paddock login https://paddock.example.com
  paddock login --token-stdin http://127.0.0.1:7723 < token.txt`,
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := a.ownContext()
			if err != nil {
				return err
			}
			if kept, err := clientcontext.KeptByServer(file); err != nil {
				return err
			} else if kept && file != clientcontext.Here().Person {
				return exitWith(exitConflict, "%s belongs to the server that wrote it; unset PADDOCK_CONTEXT, or name another file with --context", file)
			}
			t := target{urlFrom: "the command line"}
			if t.URL = first(append(args, a.url, a.getenv("PADDOCK_URL"))...); t.URL == "" {
				found, from, err := a.stored()
				if err != nil {
					return err
				}
				t.URL, t.urlFrom = first(found.URL, clientcontext.DefaultURL), from
			}
			t.URL = strings.TrimSuffix(t.URL, "/")
			if !strings.Contains(t.URL, "://") {
				return usagef(cmd, "%q is not the URL of a server; it begins with http:// or https://", t.URL)
			}
			if t.Token, err = a.askToken(cmd, t.URL, fromStdin); err != nil {
				return err
			}
			if err := a.try(cmd, t); err != nil {
				return err
			}
			if err := clientcontext.Write(file, t.Context); err != nil {
				return err
			}
			if u, err := url.Parse(t.URL); err == nil && u.Scheme == "http" && !local(t.URL) {
				a.note("warning: %s is not https: whoever sees the network sees the token", t.URL)
			}
			return a.result(loginResult{t.URL, file}, func(w io.Writer) {
				fmt.Fprintf(w, "Commands go to %s now; %s remembers it. 'paddock logout' forgets it.\n", t.URL, file)
			})
		},
	}
	cmd.Flags().BoolVar(&fromStdin, "token-stdin", false, "read the token from standard input")
	return cmd
}

func newLogout(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "logout",
		GroupID: groupServer,
		Short:   "Forget what login remembered",
		Example: "  paddock logout",
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			file, err := a.ownContext()
			if err != nil {
				return err
			}
			if kept, err := clientcontext.KeptByServer(file); err != nil {
				return err
			} else if kept {
				return exitWith(exitConflict, "login remembered nothing in %s: it belongs to the server that wrote it", file)
			}
			if err := clientcontext.Forget(file); err != nil {
				return err
			}
			return a.result(loginResult{File: file}, func(w io.Writer) { fmt.Fprintln(w, "Forgotten. The token itself still works.") })
		},
	}
}

// ownContext is the file that login writes.
func (a *app) ownContext() (string, error) {
	file := first(a.contextFile, a.getenv("PADDOCK_CONTEXT"), clientcontext.Here().Person)
	if file == "" {
		return "", exitWith(exitFailed, "you have no configuration folder (HOME is not set); name a file with --context")
	}
	return file, nil
}

// askToken gets a token: from a file or the environment where one is named, else
// from standard input, unseen on a terminal.
func (a *app) askToken(cmd *cobra.Command, address string, fromStdin bool) (token string, err error) {
	var b []byte
	switch {
	case fromStdin:
		b, err = a.input(cmd.Context())
	case a.tokenFile != "":
		b, err = os.ReadFile(a.tokenFile)
	case a.getenv("PADDOCK_TOKEN") != "":
		b = []byte(a.getenv("PADDOCK_TOKEN"))
	case IsTerminal(a.in) && IsTerminal(a.err):
		fmt.Fprintf(a.err, "Token for %s: ", address)
		b, err = readHidden(cmd.Context(), a.in.(*os.File))
		fmt.Fprintln(a.err)
	default:
		return "", usagef(cmd, "a token is needed; give it with --token-stdin or --token-file")
	}
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	if token = strings.TrimSpace(string(b)); token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usagef(cmd, "that is no token: it is one word of visible characters")
	}
	return token, nil
}

// readHidden reads a line off a terminal that does not show it.
func readHidden(ctx context.Context, f *os.File) ([]byte, error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, unix.TCSETSF, &hidden); err != nil {
		return nil, err
	}
	defer func() { _ = unix.IoctlSetTermios(fd, unix.TCSETSF, before) }()
	buf := make([]byte, 4096)
	n, err := readSome(ctx, f, buf)
	return buf[:n], err
}

// try asks the server something that needs the token.
func (a *app) try(cmd *cobra.Command, t target) error {
	c, err := a.client(t)
	if err != nil {
		return usagef(cmd, "%v", err)
	}
	t.tokenFrom = "what you gave"
	a.server = t
	ctx, cancel := context.WithTimeout(cmd.Context(), 30*time.Second)
	defer cancel()
	_, err = c.Sessions(ctx, client.ListOptions{PageSize: 1})
	return err
}
