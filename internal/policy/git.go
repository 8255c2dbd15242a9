package policy

import (
	"regexp"
	"slices"
	"strings"
)

// gitCommands are the commands of git that no alias can replace; gitStarts are
// those that may start anything.
var (
	gitCommands = strings.Fields(`add am annotate apply archive bisect blame branch bundle cat-file check-ignore checkout cherry cherry-pick clean clone
		commit config count-objects credential describe diff difftool fetch filter-branch for-each-ref for-each-repo format-patch fsck gc grep hash-object help init
		log ls-files ls-remote ls-tree maintenance merge merge-base mergetool mv name-rev notes pull push range-diff read-tree rebase reflog
		remote repack replace request-pull rerere reset restore rev-list rev-parse revert rm send-email shortlog show show-branch show-ref sparse-checkout
		stash status submodule switch symbolic-ref tag update-index update-ref verify-commit verify-tag version whatchanged worktree write-tree`)
	gitStarts = strings.Fields("bisect difftool filter-branch for-each-repo mergetool rebase submodule")
	// gitPrograms are the options that name a program, as short as git takes them.
	gitPrograms = map[string][]string{
		"clone": {"--u", "-u", "-c", "--conf", "--templ"}, "fetch": {"--upl"}, "pull": {"--upl"}, "ls-remote": {"--u", "--e"}, "push": {"--rece", "--e"},
		"archive": {"--e"}, "grep": {"-O", "--op"}, "send-email": {"--to-cmd", "--cc-cmd", "--header-cmd", "--sendmail-cmd", "--smtp-server"}, "init": {"--templ"},
		"remote": {"update-with"}, "help": {"-w", "--web"}, "show": {"--ext"}, "log": {"--ext"},
	}
	// gitStarting are the settings that name a command, gitPlain those that
	// change nothing of what runs.
	gitStarting  = regexp.MustCompile(`(?i)^(alias\..+|core\.(pager|editor|fsmonitor|sshcommand|askpass|gitproxy|hookspath|alternaterefscommand)|pager\..+|sequence\.editor|diff\.external|diff\..+\.(command|textconv)|(diff|merge)tool\..+\.(cmd|path)|filter\..+\.(clean|smudge|process)|merge\..+\.driver|credential\.(.+\.)?helper|gpg\.(.+\.)?(program|defaultkeycommand)|interactive\.difffilter|trailer\..+\.(cmd|command)|uploadpack\.packobjectshook|remote\..+\.(uploadpack|receivepack|vcs)|submodule\..+\.update|(browser|man)\..+\.(cmd|path)|sendemail\..*(cmd|smtpserver)|web\.browser|tar\..+\.command|ssh\.variant)$`)
	gitElsewhere = regexp.MustCompile(`(?i)^(include(if)?\..+|init\.templatedir|url\..+\.(insteadof|pushinsteadof)|protocol\.(ext\.)?allow|core\.(attributesfile|worktree))$`)
	gitPlain     = regexp.MustCompile(`(?i)^(user\.(name|email|signingkey)|(commit|tag)\.gpgsign|color\..+|core\.(quotepath|autocrlf|filemode|longpaths|safecrlf|ignorecase|abbrev)|init\.defaultbranch|advice\..+|safe\.directory|pull\.(rebase|ff)|push\.(default|autosetupremote)|merge\.conflictstyle|diff\.(algorithm|renames|nopprefix)|log\.(date|decorate)|http\.(sslverify|postbuffer|version|extraheader)|protocol\.version|gc\.auto|rebase\.autostash|fetch\.prune|column\.ui)$`)
)

// configured reads KEY=VALUE of git -c.
func (u *unwrapping) configured(w word) {
	key, value, set := cutText(w.text)
	switch {
	case gitStarting.MatchString(key) && set:
		u.starting(key, value)
	case !gitPlain.MatchString(key):
		u.analysis.unknown("it cannot be told what git runs")
	}
}

func (u *unwrapping) starting(key string, value text) {
	if strings.HasPrefix(strings.ToLower(key), "alias.") {
		u.analysis.unknown("it gives a git command another meaning")
	}
	u.commands(value, key)
}

// commands reads what a setting has git start.
func (u *unwrapping) commands(value text, where string) {
	if !value.known() {
		u.analysis.unknown("the command in " + where + " is known only when it runs")
		return
	}
	if s := strings.TrimLeft(string(value), "!"); strings.TrimSpace(s) != "" && s != "true" && s != "false" {
		u.read(s)
	}
}

// configures reads what git config sets.
func (u *unwrapping) configures(args []word) {
	for i, w := range args[:max(len(args)-1, 0)] {
		key := string(w.text)
		switch {
		case w.text.known() && gitStarting.MatchString(key):
			u.starting(key, args[i+1].text)
		case w.text.known() && gitElsewhere.MatchString(key), !w.text.known() && !gitPlain.MatchString(string(args[max(i-1, 0)].text)):
			u.analysis.unknown("it cannot be told what git runs after it")
		}
	}
}

// git gives the tool that a git command is, such as git.push.
func (u *unwrapping) git() text {
	f := form{flags: "pP", values: "Cc", long: []string{"bare", "no-pager", "paginate", "no-replace-objects", "literal-pathspecs", "no-optional-locks"},
		longValue: []string{"git-dir", "work-tree", "namespace"}}
	_, rest, ok := f.skipped(u.args)
	for i, w := range u.args[:len(u.args)-len(rest)] {
		if w.is("-c") && i+1 < len(u.args) {
			u.configured(u.args[i+1])
		}
	}
	switch {
	case !ok: // also --exec-path, which can give any command another meaning
		u.analysis.unknown("it cannot be told what git runs")
		return text{'g', 'i', 't', '.', gap}
	case len(rest) == 0:
		return text("git.help")
	case !slices.Contains(gitCommands, string(rest[0].text)):
		return text{'g', 'i', 't', '.', gap} // an alias, perhaps
	}
	name := string(rest[0].text)
	for _, w := range rest[1:] {
		if _, program, ok := strings.Cut(string(w.text), "ext::"); ok {
			u.commands(text(program), "an address")
		}
	}
	if name == "config" {
		u.configures(rest[1:])
	}
	inner := unwrapping{analysis: u.analysis, name: "git " + name, args: rest[1:]}
	if slices.Contains(gitStarts, name) && inner.given([]string{"-x", "--exe", "--ext", "run", "foreach", "--tree-filter"}) || name == "filter-branch" {
		u.analysis.unknown("git " + name + " may start other programs")
		u.analysis.guess(rest[1:])
	}
	if options := gitPrograms[name]; options != nil && inner.given(options) {
		u.analysis.unknown("git " + name + " is given a program to start")
		u.analysis.guess(rest[1:])
	}
	return text("git." + name)
}
