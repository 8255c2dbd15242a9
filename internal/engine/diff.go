package engine

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/id"
)

const (
	// diffDeadline is how long the comparison of one repository may take.
	diffDeadline = 2 * time.Minute
	// MaxDiff is how much of one repository's difference is given, in bytes.
	MaxDiff = 8 << 20
)

// RepoDiff is what has changed in a repository since it was cloned.
type RepoDiff struct {
	Path      string // in the workspace
	URL       string
	Base      string // the commit that was cloned; empty: there was none yet
	Files     []FileDiff
	Patch     []byte // as git writes it
	Truncated bool   // the patch is longer, or the list of files is
	Problem   string // why nothing can be said, in half a sentence
}

// FileDiff is one file that has changed.
type FileDiff struct {
	Path    string
	From    string // its name before, where it was renamed or copied
	Status  string // added, modified, deleted, renamed, copied, type
	Added   int    // lines; 0 of a binary file
	Removed int
	Binary  bool
}

// diffScript compares the folder that is its first argument with the commit it
// was cloned with, what git does not know yet included. Nothing of the
// repository's configuration is heeded: it is the agent's, could name programs,
// and would have them run by who asks and not by the agent. So git works in a
// folder of its own, with the objects of the repository; its index is not used,
// in which files may be marked as not to be looked at.
const diffScript = `fail() { echo "$1" >&2; exit 3; }
cd "$1" 2>/dev/null && [ -d .git ] || fail "is no git repository any more"
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ALLOW_PROTOCOL=none GIT_OPTIONAL_LOCKS=0
base=$(GIT_DIR=.git git rev-parse -q --verify ` + baseRef + `)
tmp=$(mktemp -d) || fail "cannot be compared without a temporary folder"
trap 'rm -rf "$tmp"' EXIT
git init -q --bare "$tmp/git" || exit 4
export GIT_DIR="$tmp/git" GIT_WORK_TREE="$PWD"
mkdir -p "$GIT_DIR/objects/info" "$GIT_DIR/info"
printf '%s\n' "$PWD/.git/objects" > "$GIT_DIR/objects/info/alternates"
cat .git/info/exclude > "$GIT_DIR/info/exclude" 2>/dev/null
git config core.bare false
tree=$base
[ -n "$tree" ] || tree=$(git hash-object -t tree -w /dev/null)
git read-tree "$tree" || exit 4
git add -A --ignore-errors . >/dev/null 2>"$tmp/said" || [ -s "$tmp/said" ] || exit 4
printf '%s\0' "$base"
diff="git diff --cached --no-ext-diff --no-textconv --no-color --find-renames --no-abbrev"
$diff --raw --numstat -z "$tree" -- || exit 4
[ -z "$2" ] || { printf '\0'; $diff --patch "$tree" --; } || exit 4`

// Diff says what has changed in the repositories that were cloned when the session
// was made, with patches or without. It does not wait for a run; a paused session
// is resumed first.
func (e *Engine) Diff(ctx context.Context, team id.Team, ref string, patches bool) ([]RepoDiff, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return nil, err
	}
	env, err := e.store.Environment(ctx, s.Environment)
	if err != nil {
		return nil, fmt.Errorf("read environment: %w", err)
	}
	m, release, err := e.reach(ctx, team, s.ID.String())
	if err != nil {
		return nil, err
	}
	defer release()
	list := []RepoDiff{}
	for _, r := range env.Spec.Repos {
		d, err := diffRepo(ctx, m, env.Spec, r, patches)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

func diffRepo(ctx context.Context, m *machine, spec environment.Spec, r environment.Repo, patches bool) (RepoDiff, error) {
	argv := []string{"/bin/sh", "-c", diffScript, "sh", r.Path, ""}
	if patches {
		argv[len(argv)-1] = "patch"
	}
	x := execution{machine: m, id: id.New[id.Exec](), most: MaxDiff}
	defer x.end(ctx)
	d := RepoDiff{Path: r.Path, URL: r.URL}
	got, err := x.run(ctx, gitRequest(spec, diffDeadline, argv...))
	switch {
	case err != nil:
		return d, err
	case got.TimedOut:
		return d, fault.New(fault.BadGateway, "git did not compare %s within %s", r.Path, diffDeadline)
	case got.Code != 0:
		d.Problem = gitWords(got.Stderr, got.Code)
		return d, nil
	}
	d.read(got.Stdout)
	d.Truncated = got.StdoutTruncated
	return d, nil
}

// read takes what the script printed: the base; an entry for each file, then its
// lines; a NUL and the patch. What was cut off is missing at the end.
func (d *RepoDiff) read(out []byte) {
	next := func() (text string, ok bool) {
		b, rest, ok := bytes.Cut(out, []byte{0})
		if ok {
			out = rest
		}
		return string(b), ok
	}
	d.Base, _ = next()
	at := map[string]int{} // index by path
	for len(out) > 0 {
		entry, ok := next()
		switch {
		case !ok:
			return
		case entry == "":
			d.Patch = out
			return
		case entry[0] == ':': // :MODE MODE ID ID STATUS, then one name or two
			f := FileDiff{Status: statusWord(entry[strings.LastIndexByte(entry, ' ')+1:])}
			if f.Status == "renamed" || f.Status == "copied" {
				f.From, _ = next()
			}
			if f.Path, ok = next(); ok {
				at[f.Path] = len(d.Files)
				d.Files = append(d.Files, f)
			}
		default: // ADDED<tab>REMOVED<tab>NAME, or two names after it
			fields := strings.SplitN(entry, "\t", 3)
			if len(fields) < 3 {
				return
			}
			if fields[2] == "" {
				next()
				fields[2], _ = next()
			}
			if i, known := at[fields[2]]; known {
				f := &d.Files[i]
				f.Binary = fields[0] == "-"
				f.Added, _ = strconv.Atoi(fields[0])
				f.Removed, _ = strconv.Atoi(fields[1])
			}
		}
	}
}

// statusWord spells out git's letter, which may have a number behind it.
func statusWord(letter string) string {
	words := map[byte]string{'A': "added", 'D': "deleted", 'R': "renamed", 'C': "copied", 'T': "type"}
	if letter != "" && words[letter[0]] != "" {
		return words[letter[0]]
	}
	return "modified"
}
