package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

const (
	// cloneDeadline is how long one repository may take.
	cloneDeadline = 15 * time.Minute
	// maxGitWords is how much of what git says goes into a message.
	maxGitWords = 600
)

// baseRef is where a clone keeps the commit that it was made with. It is one of
// git's own names, so that it goes along with the files wherever they go, and
// that git keeps the commit.
const baseRef = "refs/paddock/base"

// cloneScript clones with its arguments into the folder that is the first of
// them, and says which branch and commit that gave; nothing of a repository
// without commits.
const cloneScript = `into=$1; shift
git -c advice.detachedHead=false clone --quiet --no-progress "$@" "$into" || exit 1
cd "$into" || exit 1
git rev-parse -q --verify HEAD >/dev/null || exit 0
git update-ref ` + baseRef + ` HEAD && git rev-parse --abbrev-ref HEAD && git rev-parse HEAD`

// cloneAll clones the repositories of a session that is starting, by the git
// inside, as the agent's user. An error is a sentence for people; the session
// fails with it. A server that takes a start up begins with a new machine, so
// nothing is cloned over an earlier try.
func (e *Engine) cloneAll(ctx context.Context, m *machine, spec environment.Spec) error {
	defer m.keepAwake()()
	for _, r := range spec.Repos {
		if err := e.clone(ctx, m, spec, r); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) clone(ctx context.Context, m *machine, spec environment.Spec, r environment.Repo) error {
	fields := map[string]any{"reason": "clone", "url": r.URL, "path": r.Path}
	if err := e.logSetup(ctx, m.session, fields, "cloning %s into %s", r.URL, r.Path); err != nil {
		return err
	}
	argv := []string{"/bin/sh", "-c", cloneScript, "sh", r.Path}
	if r.Branch != "" {
		argv = append(argv, "--branch", r.Branch)
	}
	if r.Depth > 0 {
		argv = append(argv, "--depth", strconv.Itoa(r.Depth))
	}
	began := e.now()
	got, err := runInside(ctx, m, gitRequest(spec, cloneDeadline, append(argv, "--", r.URL)...))
	switch {
	case err != nil:
		return err
	case got.TimedOut:
		return fault.New(fault.BadGateway, "could not clone %s: git was not done within %s", r.URL, cloneDeadline)
	case got.Code != 0:
		return fault.New(fault.BadGateway, "could not clone %s: %s", r.URL, gitWords(got.Stderr, got.Code))
	}
	what := "it has no commits yet"
	if words := strings.Fields(string(got.Stdout)); len(words) == 2 {
		fields["branch"], fields["commit"] = words[0], words[1]
		what = fmt.Sprintf("%.12s of branch %s", words[1], words[0])
		if words[0] == "HEAD" { // of a tag
			what = fmt.Sprintf("%.12s", words[1])
		}
	}
	return e.logSetup(ctx, m.session, fields, "cloned %s into %s in %s: %s", r.URL, r.Path, e.now().Sub(began).Round(100*time.Millisecond), what)
}

// gitRequest is a command that calls git as the owner of the clones. It asks
// nobody for passwords, and speaks English.
func gitRequest(spec environment.Spec, timeout time.Duration, argv ...string) guestapi.ExecRequest {
	return guestapi.ExecRequest{Argv: argv, User: agentUser(spec), Timeout: timeout, Env: map[string]string{
		"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/false", "LC_ALL": "C.UTF-8", "LANGUAGE": "C",
	}}
}

// runInside runs a command of the engine's own in a machine.
func runInside(ctx context.Context, m *machine, req guestapi.ExecRequest) (ExecResult, error) {
	x := execution{machine: m, id: id.New[id.Exec]()}
	defer x.end(ctx)
	return x.run(ctx, req)
}

// gitWords is what git said of a failure, in one line.
func gitWords(stderr []byte, code int) string {
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(string(stderr), "\uFFFD")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if len(text) > maxGitWords {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxGitWords:], "")
	}
	switch {
	case text == "" && code == 127:
		return "there is no git in its template"
	case text == "":
		return fmt.Sprintf("git ended with code %d", code)
	}
	return text
}

// logSetup writes into the history what is done to a session before it is ready.
func (e *Engine) logSetup(ctx context.Context, sid id.Session, fields map[string]any, format string, args ...any) error {
	return e.change(ctx, sid, func(c *change) error {
		c.emit(id.Run{}, event.RunLog, event.Log{Level: "info", Message: fmt.Sprintf(format, args...), Fields: fields})
		return nil
	})
}
