package policy

import (
	"regexp"
	"slices"
	"strings"
)

// runners are programs that start others in too many ways to be read.
var runners = strings.Fields(`at batch bwrap capsh catchsegv chpst cpulimit crontab dbus-run-session dtach ed emacs entr ex expect fakeroot
	firejail flock gdb hyperfine linux32 linux64 lldb ltrace nsenter numactl parallel perf pkexec prlimit proot rlwrap run-parts runuser
	screen script setarch setpriv ssh start-stop-daemon strace su systemd-run tmux unbuffer unshare valgrind vi view vim vimdiff watchexec
	xvfb-run`)

// code are the options by which programs are given code to run.
var code = map[string][]string{
	"python": {"-c"}, "perl": {"-e", "-E"}, "ruby": {"-e"}, "node": {"-e", "-p", "--eval", "--print"}, "nodejs": {"-e", "-p", "--eval", "--print"},
	"php": {"-r", "-B", "-R", "-E"}, "lua": {"-e"}, "bun": {"-e", "--eval"}, "deno": {"eval"}, "osascript": {"-e"},
	"tar": {"--to", "--checkpoint-a", "-I", "--use", "--rsh", "--info", "--new", "-F"}, "rsync": {"-e", "--rsh"},
	"zip": {"-TT", "--unzip-c"}, "fd": {"-x", "-X", "--exec"}, "fdfind": {"-x", "-X", "--exec"}, "rg": {"--pre"}, "make": {"--eval", "SHELL"},
	"hash": {"-p"}, "enable": {""}, "bind": {""}, "mapfile": {"-C"}, "readarray": {"-C"}, "complete": {"-C", "-F"},
	"sort": {"--compress"}, "man": {"-P", "--pager", "-H"}, "npx": {"-c", "--call"}, "npm": {"exec", "x"},
}

var (
	awkCode = regexp.MustCompile(`system|\||getline|@`)
	sedCode = regexp.MustCompile(`(^|[;{}\n0-9$/!])\s*e(\s|$)|[^\w\s][gpiImM0-9]*e[gpiImMw0-9]*([;}\s]|$)`)
	version = regexp.MustCompile(`[0-9.]+$`)
)

// hidden adds that something unknown runs where a program is given code, or
// the name of another program, in one of its arguments. What a program does
// on its own, as make and any script do, is decided by its name.
func (u *unwrapping) hidden() {
	name := u.name
	if stem := version.ReplaceAllString(name, ""); code[stem] != nil {
		name = stem // python3.11
	}
	switch {
	case slices.Contains(runners, name):
		u.analysis.unknown(name + " starts other programs")
	case strings.HasSuffix(name, "awk") && u.has(awkCode):
		u.analysis.unknown("its " + name + " program may start others")
	case strings.HasSuffix(name, "sed") && u.has(sedCode):
		u.analysis.unknown("its " + name + " script may start others")
	case slices.Contains([]string{"python", "perl", "ruby", "node", "php", "lua"}, name) && (len(u.args) == 0 || u.args[len(u.args)-1].is("-")):
		u.analysis.unknown("what " + name + " is given to run is known only when it runs")
	case u.gives(code[name]):
		u.analysis.unknown(name + " is given code to run")
	}
}

// has says whether an argument matches, or may.
func (u *unwrapping) has(r *regexp.Regexp) bool {
	return slices.ContainsFunc(u.args, func(w word) bool {
		return !w.text.known() || !w.is("-e") && !w.is("-ne") && r.MatchString(string(w.text))
	})
}

// gives says whether one of the options is among the arguments, alone, bundled
// with others of one letter, or with its value behind it.
func (u *unwrapping) gives(options []string) bool {
	for _, o := range options {
		for i, w := range u.args {
			s := string(w.text)
			switch {
			case strings.HasPrefix(s, o):
				return true
			case w.split && w.text[0] == gap:
				return true // may be one
			case len(o) == 2 && o[0] == '-' && len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.Contains(s, o[1:]):
				return true
			case u.name == "tar" && i == 0 && strings.ContainsAny(s, "IF") && !strings.HasPrefix(s, "-"):
				return true // its oldest way of options
			}
		}
	}
	return false
}

// gitCommands are the commands of git that no alias can replace; gitStarts are
// those that may start anything.
var (
	gitCommands = strings.Fields(`add am annotate apply archive bisect blame branch bundle cat-file check-ignore checkout cherry cherry-pick clean clone
		commit config count-objects credential describe diff difftool fetch filter-branch for-each-ref for-each-repo format-patch fsck gc grep hash-object help init
		log ls-files ls-remote ls-tree maintenance merge merge-base mergetool mv name-rev notes pull push range-diff read-tree rebase reflog
		remote repack replace request-pull rerere reset restore rev-list rev-parse revert rm send-email shortlog show show-branch show-ref sparse-checkout
		stash status submodule switch symbolic-ref tag update-index update-ref verify-commit verify-tag version whatchanged worktree write-tree`)
	gitStarts = strings.Fields("bisect difftool filter-branch for-each-repo mergetool rebase submodule")
)

// git gives the tool that a git command is, such as git.push.
func (u *unwrapping) git() text {
	f := form{flags: "pP", values: "C", long: []string{"bare", "no-pager", "paginate", "no-replace-objects", "literal-pathspecs", "no-optional-locks"},
		longValue: []string{"git-dir", "work-tree", "namespace"}}
	_, rest, ok := f.skipped(u.args)
	switch {
	case !ok: // also -c and --exec-path, which can give any command another meaning
		u.analysis.unknown("it cannot be told what git runs")
		return text{'g', 'i', 't', '.', gap}
	case len(rest) == 0:
		return text("git.help")
	case !slices.Contains(gitCommands, string(rest[0].text)):
		return text{'g', 'i', 't', '.', gap} // an alias, perhaps
	}
	name := string(rest[0].text)
	inner := unwrapping{analysis: u.analysis, name: "git " + name, args: rest[1:]}
	if slices.Contains(gitStarts, name) && inner.gives([]string{"-x", "--exe", "--ext", "run", "foreach", "--tree-filter"}) || name == "filter-branch" {
		u.analysis.unknown("git " + name + " may start other programs")
	}
	return text("git." + name)
}
