package policy

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// unwrapping is a simple command whose program may start another one.
type unwrapping struct {
	*analysis
	name      string
	assigns   []word
	args      []word
	redirects []*syntax.Redirect
}

// wrapper adds what a command starts in turn. It says whether that is all that
// the command does; then the command itself needs no leave of its own.
type wrapper func(u *unwrapping) (onlyThat bool)

// form is how a wrapper's arguments are written up to the command that it starts.
// An option that it does not have makes the rest unknown: it may take a value.
type form struct {
	flags     string   // options of one letter without a value
	values    string   // options of one letter with one
	long      []string // options of one word without a value, or with =VALUE
	longValue []string // options of one word with a value, behind = or as the next word
	numbers   bool     // -10 is an option
	skip      int      // words between options and command
	variables bool     // NAME=VALUE may precede the command
	powers    bool     // it runs the command as another user or elsewhere: needs leave itself
}

// forms are the programs that do nothing but start another one.
var forms = map[string]form{
	"env": {flags: "i0v", values: "uC", long: []string{"ignore-environment", "null", "debug"}, longValue: []string{"unset", "chdir"}, variables: true},
	"sudo": {flags: "AbBEHiKknNPSsv", values: "CDgGhpRrTtUu", variables: true, powers: true,
		long: []string{"preserve-env", "non-interactive", "login", "shell", "background", "set-home", "stdin", "reset-timestamp"}, longValue: []string{"user", "group", "prompt", "chdir", "host"}},
	"doas":    {flags: "Lns", values: "Cu", powers: true},
	"timeout": {flags: "fpv", values: "ks", long: []string{"foreground", "preserve-status", "verbose"}, longValue: []string{"kill-after", "signal"}, skip: 1},
	"nice":    {values: "n", longValue: []string{"adjustment"}, numbers: true},
	"nohup":   {},
	"setsid":  {flags: "cfw", long: []string{"ctty", "fork", "wait"}},
	"ionice":  {flags: "t", values: "cn", long: []string{"ignore"}, longValue: []string{"class", "classdata"}},
	"chrt":    {flags: "abdfioRrv", skip: 1},
	"taskset": {flags: "ac", skip: 1},
	"stdbuf":  {values: "ioe", longValue: []string{"input", "output", "error"}},
	"time":    {flags: "apqvV", values: "fo", long: []string{"portability", "verbose", "append", "quiet"}, longValue: []string{"format", "output"}},
	"builtin": {},
	"exec":    {flags: "cl", values: "a"},
	"busybox": {powers: true},
	"toybox":  {powers: true},
	"choom":   {values: "n", longValue: []string{"adjust"}},
	"chroot":  {long: []string{"skip-chdir"}, longValue: []string{"userspec", "groups"}, skip: 1, powers: true},
}

// wrapperOf gives the wrapper of a program, nil when it starts nothing.
func wrapperOf(program string) wrapper {
	switch program {
	case "command":
		return query
	case "xargs":
		return xargs
	case "find":
		return find
	case "watch":
		return watch
	case "eval":
		return eval
	case "trap":
		return trap
	case "alias":
		return alias
	case ".", "source":
		return source
	case "set":
		return set
	}
	if slices.Contains(shells, program) {
		return shell
	}
	if f, ok := forms[program]; ok {
		return starts(f)
	}
	return nil
}

// shells are the programs that read shell commands. What only some of them read
// in their own way is read as bash does.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"}

// starts makes the wrapper of a program with a form.
func starts(f form) wrapper {
	return func(u *unwrapping) bool {
		assigns, rest, ok := f.skipped(u.args)
		if !ok {
			u.analysis.unknown("it cannot be told what " + u.name + " starts")
			u.analysis.guess(u.args)
			return !f.powers
		}
		u.setsAll(assigns, false)
		u.simple(append(slices.Clone(u.assigns), assigns...), rest, u.redirects)
		return !f.powers
	}
}

// skipped gives what stands behind the form's own words.
func (f form) skipped(args []word) (assigns, rest []word, ok bool) {
	for len(args) > 0 {
		w := string(args[0].text)
		if !args[0].text.known() || !strings.HasPrefix(w, "-") {
			break
		}
		args = args[1:]
		if w == "--" {
			break
		}
		value, ok := f.option(w)
		if !ok || value && len(args) == 0 {
			return nil, nil, false
		}
		if value {
			if args[0].split {
				return nil, nil, false
			}
			args = args[1:]
		}
	}
	for f.variables && len(args) > 0 && !args[0].split && strings.Contains(string(args[0].text), "=") {
		if before, _, _ := strings.Cut(string(args[0].text), "="); !text(before).known() {
			return nil, nil, false
		}
		assigns, args = append(assigns, args[0]), args[1:]
	}
	if len(args) < f.skip {
		return assigns, nil, true // it starts nothing
	}
	for _, w := range args[:f.skip] {
		if w.split || len(w.text) > 0 && w.text[0] == gap {
			return nil, nil, false // may be an option
		}
	}
	args = args[f.skip:]
	if len(args) > 0 && (args[0].split || len(args[0].text) > 0 && args[0].text[0] == gap) {
		return nil, nil, false
	}
	return assigns, args, true
}

// option says whether the next word is the option's value; not ok when the
// option is not one of the form.
func (f form) option(w string) (value, ok bool) {
	if name, isLong := strings.CutPrefix(w, "--"); isLong {
		name, _, given := strings.Cut(name, "=")
		switch {
		case slices.Contains(f.longValue, name):
			return !given, true
		case slices.Contains(f.long, name):
			return false, true
		}
		return false, false
	}
	letters := w[1:]
	if letters == "" {
		return false, true // env -
	}
	if f.numbers && strings.Trim(letters, "-0123456789") == "" {
		return false, true
	}
	for i, r := range letters {
		switch {
		case strings.ContainsRune(f.values, r):
			return i == len(letters)-1, true
		case !strings.ContainsRune(f.flags, r):
			return false, false
		}
	}
	return false, true
}

// query is the command builtin, which also only says what a command is.
func query(u *unwrapping) bool {
	if len(u.args) > 0 && (u.args[0].is("-v") || u.args[0].is("-V")) {
		return false
	}
	return starts(form{flags: "p"})(u)
}

// xargs puts words that it reads behind the command, or in place of some in it.
func xargs(u *unwrapping) bool {
	f := form{flags: "0prtxo", values: "aEIdLnPsJRS",
		long:      []string{"null", "no-run-if-empty", "interactive", "verbose", "exit", "open-tty"},
		longValue: []string{"arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"}}
	_, rest, ok := f.skipped(u.args)
	if !ok {
		u.analysis.unknown("it cannot be told what xargs starts")
		return true
	}
	if len(rest) == 0 {
		return false // echo
	}
	inner := []word{rest[0]}
	replace := u.replaced()
	for _, w := range rest[1:] {
		inner = append(inner, replaceGap(w, replace))
	}
	inner[0] = replaceGap(inner[0], replace)
	if replace == "" {
		inner = append(inner, word{text: text{gap}, split: true})
	}
	u.simple(u.assigns, inner, nil)
	return true
}

// replaced is the text of xargs -I.
func (u *unwrapping) replaced() string {
	for i, w := range u.args {
		if rest, ok := strings.CutPrefix(string(w.text), "-I"); ok && w.text.known() {
			if rest == "" && i+1 < len(u.args) {
				return string(u.args[i+1].text)
			}
			return rest
		}
		if !strings.HasPrefix(string(w.text), "-") {
			break
		}
	}
	return ""
}

// replaceGap makes a gap of a text that stands for something read later.
func replaceGap(w word, placeholder string) word {
	if placeholder == "" || !strings.Contains(string(w.text), placeholder) {
		return w
	}
	var t text
	for i, piece := range strings.Split(string(w.text), placeholder) {
		if i > 0 {
			t = append(t, gap)
		}
		t = append(t, text(piece)...)
	}
	return word{text: t, split: w.split}
}

// find starts what follows its -exec and the like, with {} in place of a file.
func find(u *unwrapping) bool {
	for i := 0; i < len(u.args); i++ {
		w := u.args[i]
		if w.split || !w.text.known() && w.text[0] == gap && slices.ContainsFunc(u.args[i:], endOfExec) {
			u.analysis.unknown("it cannot be told what find starts")
			continue
		}
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, string(w.text)) {
			continue
		}
		var inner []word
		for i++; i < len(u.args) && !endOfExec(u.args[i]); i++ {
			inner = append(inner, replaceGap(u.args[i], "{}"))
		}
		u.simple(u.assigns, inner, nil)
	}
	return false
}

func endOfExec(w word) bool { return w.is(";") || w.is("+") }

// shell reads commands from its -c, or from what is fed to it.
func shell(u *unwrapping) bool {
	command, args := false, u.args
	for len(args) > 0 && (args[0].text.known() && len(args[0].text) > 1 && strings.ContainsRune("-+", args[0].text[0]) || args[0].is("-")) {
		w := string(args[0].text)
		args = args[1:]
		if w == "--" || w == "-" {
			break
		}
		if strings.HasPrefix(w, "--") {
			if !slices.Contains([]string{"--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose"}, w) {
				u.analysis.unknown("it cannot be told what " + u.name + " reads")
				return true
			}
			u.analysis.login = u.analysis.login || w == "--login"
			continue
		}
		u.analysis.login = u.analysis.login || strings.ContainsAny(w, "il")
		command = command || w[0] == '-' && strings.Contains(w, "c")
		if n := strings.Count(w, "o") + strings.Count(w, "O"); n > 0 {
			args = args[min(n, len(args)):] // each has a value
		}
	}
	switch {
	case command && len(args) > 0 && args[0].text.known() && !args[0].split:
		u.gives(args[1:])
		u.read(string(args[0].text))
		return true
	case len(args) > 0 && !command && descriptor(args[0]) != "":
		u.gives(args[1:])
		if script, ok := u.heredoc(u.redirects, descriptor(args[0])); ok {
			u.read(script)
			return true
		}
	case len(args) > 0 && !command && args[0].text.known():
		return false // a file of commands: decided by its name
	case len(args) == 0 && !command:
		if script, ok := u.heredoc(u.redirects, "0"); ok {
			u.read(script)
			return true
		}
	}
	u.analysis.unknown("what " + u.name + " is given to run is known only when it runs")
	return true
}

// descriptor gives the number of the open file that a name stands for, "" when
// it stands for none.
func descriptor(w word) string {
	if !w.text.known() {
		return ""
	}
	name := path.Clean(string(w.text))
	if name == "/dev/stdin" {
		return "0"
	}
	if strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/") && strings.Contains(name, "/fd/") {
		return path.Base(name)
	}
	return ""
}

// source reads commands from a file, which may be what is fed to it. A file of
// which only the name is known is decided by that.
func source(u *unwrapping) bool {
	args := u.args
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) == 0 {
		return false
	}
	u.gives(args[1:])
	if d := descriptor(args[0]); d != "" {
		if script, ok := u.heredoc(u.redirects, d); ok {
			u.read(script)
			return true
		}
		u.analysis.unknown("what " + u.name + " reads is known only when it runs")
		return true
	}
	if base := path.Base(string(args[0].text)); !args[0].text.known() && (strings.ContainsRune(base, gap) || strings.ContainsRune(base, utf8.RuneError) || base == "stdin" || strings.Trim(base, "0123456789") == "") {
		u.analysis.unknown("what " + u.name + " reads is known only when it runs")
	}
	return false
}

// set gives $1, $2, … their values.
func set(u *unwrapping) bool {
	u.gives(u.args)
	return false
}

// gives notes what $1, $2, … are.
func (u *unwrapping) gives(args []word) {
	for _, w := range args {
		u.note(positional, w)
	}
}

func eval(u *unwrapping) bool {
	return u.reads(u.args, "eval")
}

// trap keeps commands for later.
func trap(u *unwrapping) bool {
	if len(u.args) < 2 || u.args[0].is("-p") || u.args[0].is("-l") {
		return false
	}
	args := u.args
	if args[0].is("--") {
		args = args[1:]
	}
	u.reads(args[:1], "trap")
	return false
}

// alias makes a word of other commands; a plain shell heeds it in scripts, too.
func alias(u *unwrapping) bool {
	for _, w := range u.args {
		if _, value, set := strings.Cut(string(w.text), "="); set {
			u.reads([]word{{text: text(value)}}, "alias")
			u.analysis.unknown("it gives a command another meaning")
		}
	}
	return false
}

// watch runs its words as a shell command, again and again.
func watch(u *unwrapping) bool {
	f := form{flags: "bcdegtxprw", values: "ns", long: []string{"beep", "color", "errexit", "chgexit", "no-title", "exec", "precise"}, longValue: []string{"interval"}}
	_, rest, ok := f.skipped(u.args)
	if !ok {
		u.analysis.unknown("it cannot be told what watch starts")
		return true
	}
	return u.reads(rest, "watch")
}

// reads takes words apart that are run as one shell command.
func (u *unwrapping) reads(words []word, who string) bool {
	if !known(words) {
		u.analysis.unknown("what " + who + " runs is known only when it runs")
		return true
	}
	u.read(string(join(words)))
	return true
}
