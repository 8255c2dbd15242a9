package policy

import (
	"slices"
	"strings"
)

// maxGuesses is at how many words a started program is looked for.
const maxGuesses = 24

// guess reads what a program may start of its arguments, where how they are
// written is not known to us: the words from any one on, the words of one, or
// what stands behind an = in it. What it finds can be denied by a rule that
// means it, and needs no leave.
func (a *analysis) guess(args []word) {
	if a.guessing {
		return
	}
	a.guessing = true
	defer a.aside()()
	for i, w := range args[:min(len(args), maxGuesses)] {
		if !w.text.known() || w.split {
			continue
		}
		s := string(w.text)
		for _, s := range append([]string{s}, inside(s)...) {
			if s = strings.TrimLeft(s, "!|@-:"); strings.ContainsAny(s, " \t\n;&|$`") || len(s) < len(w.text) {
				a.read(strings.TrimPrefix(s, "shell "))
			}
		}
		if !strings.HasPrefix(s, "-") {
			a.simple(nil, args[i:], nil)
		}
	}
	a.guessing = false
}

// aside marks what is found until the function returned is called: it can be
// denied, and needs no leave.
func (a *analysis) aside() (over func()) {
	at := len(a.items)
	return func() {
		for i := range a.items[min(at, len(a.items)):] {
			a.items[at+i].aside = true
		}
	}
}

// inside lists what of a word may be a command: what is glued to an option, and
// what stands behind = and :.
func inside(s string) (list []string) {
	if len(s) > 2 && s[0] == '-' && s[1] != '-' {
		list = append(list, s[2:])
	}
	for len(list) < 4 {
		at := strings.IndexAny(s, "=:")
		if at < 0 {
			break
		}
		s = s[at+1:]
		list = append(list, s)
	}
	return list
}

// inProject are the tools that start a program in a project's own surroundings,
// with the words behind which it stands.
var inProject = map[string][]string{
	"uv": {"run"}, "uvx": {""}, "pipx": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "rye": {"run"}, "conda": {"run"}, "mamba": {"run"},
	"bundle": {"exec"}, "pnpm": {"exec", "dlx"}, "yarn": {"exec", "dlx"}, "npx": {""}, "bunx": {""}, "mise": {"exec", "x"}, "asdf": {"exec"}, "pyenv": {"exec"}, "rbenv": {"exec"},
	"direnv": {"exec"}, "nix": {"develop", "shell", "run"}, "dotenv": {"run"}, "op": {"run"}, "aws-vault": {"exec"}, "coverage": {"run"},
}

// project reads what such a tool starts.
func (u *unwrapping) project() {
	for _, verb := range inProject[u.name] {
		rest := u.args
		if verb != "" {
			at := slices.IndexFunc(u.args, func(w word) bool { return w.is(verb) })
			if at < 0 {
				continue
			}
			rest = u.args[at+1:]
		}
		if slices.ContainsFunc(rest[:min(len(rest), 1)], func(w word) bool { return len(w.text) > 0 && w.text[0] == gap }) {
			u.analysis.unknown("it cannot be told what " + u.name + " starts")
		}
		if len(rest) > 0 && rest[0].text.known() && !strings.HasPrefix(string(rest[0].text), "-") {
			over := u.aside()
			u.simple(u.assigns, rest, u.redirects)
			over()
			return
		}
		u.analysis.guess(rest)
	}
}
