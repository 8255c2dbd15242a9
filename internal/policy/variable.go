package policy

import (
	"regexp"
	"strings"
)

// effect is what a variable does to the programs that are given it.
type effect struct {
	kind   effectKind
	benign *regexp.Regexp // options that start nothing
}

type effectKind int

const (
	harms    effectKind = iota + 1 // it changes what runs: asked
	lasting                        // so does this one, unless it is set for one command
	commands                       // it is a command that is run
	prompts                        // the shell expands it, and runs its substitutions
	options                        // options of a program, some of which start others
	homes                          // where an interactive shell finds what it reads first
)

// effects are the variables that make programs run others.
var effects = effectTable(map[effectKind]string{
	harms: `PATH BASH_ENV ENV BASHOPTS SHELLOPTS BASH_LOADABLES_PATH PYTHONSTARTUP PYTHONBREAKPOINT GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG
		GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GCONV_PATH VIMINIT EXINIT npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL ZDOTDIR INPUTRC`,
	lasting: "IFS",
	commands: `PROMPT_COMMAND GIT_EXTERNAL_DIFF GIT_SSH GIT_SSH_COMMAND GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS GIT_PROXY_COMMAND
		PAGER EDITOR VISUAL FCEDIT MANPAGER SYSTEMD_PAGER SYSTEMD_EDITOR SUDO_EDITOR SUDO_ASKPASS SSH_ASKPASS GH_PAGER GH_EDITOR GH_BROWSER BROWSER
		LESSOPEN LESSCLOSE LESSEDIT RSYNC_RSH CVS_RSH SVN_SSH SVN_EDITOR HGEDITOR TAPE_RSH FZF_DEFAULT_COMMAND SHELL CONFIG_SHELL
		CC CXX LD AR AS CPP HOSTCC RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER`,
	prompts: "PS0 PS1 PS2 PS3 PS4",
	homes:   "HOME",
}, map[string]string{
	"NODE_OPTIONS": `(--(max[-_]old[-_]space[-_]size|max-semi-space-size|stack-trace-limit|unhandled-rejections|dns-result-order)=[\w-]+|--(no-warnings|no-deprecation|trace-warnings|trace-deprecation|openssl-legacy-provider|experimental-vm-modules|enable-source-maps|experimental-strip-types))`,
	"PERL5OPT":     `-w`, "RUBYOPT": `-(W|w)[\w:-]*`, "TAR_OPTIONS": `--(no-same-owner|numeric-owner)`, "MAKEFLAGS": `(-|--)?([jksBnw]+\d*|no-print-directory)`, "GNUMAKEFLAGS": `-j\d*`,
	"GOFLAGS":           `-(mod|tags|count|v|buildvcs|trimpath|race|short|p|timeout|ldflags)(=[\w,.-]*)?`,
	"RUSTFLAGS":         `(-[DWAF]|-C|[\w:-]+|(-C)?(target-cpu|debuginfo|opt-level|instrument-coverage)(=[\w-]+)?|--cfg=?)`,
	"JAVA_TOOL_OPTIONS": `(-X(mx|ms|ss)\w+|-D[\w.]+=[\w./-]*)`, "JDK_JAVA_OPTIONS": `(-X(mx|ms|ss)\w+|-D[\w.]+=[\w./-]*)`, "LESS": `-?[A-Za-z]+`,
	"GIT_CONFIG_GLOBAL": `/dev/null`, "GIT_CONFIG_SYSTEM": `/dev/null`, "RIPGREP_CONFIG_PATH": `/dev/null`,
})

func effectTable(kinds map[effectKind]string, benign map[string]string) map[string]effect {
	table := map[string]effect{}
	for kind, names := range kinds {
		for _, name := range strings.Fields(names) {
			table[name] = effect{kind: kind}
		}
	}
	for name, option := range benign {
		table[name] = effect{kind: options, benign: regexp.MustCompile(`^(` + option + `( +|$))*$`)}
	}
	return table
}

var configVariable = regexp.MustCompile(`^(GIT_CONFIG_(KEY|VALUE)_\d+|LD_\w+|BASH_FUNC_.*)$`)
var runnerVariable = regexp.MustCompile(`^CARGO_TARGET_\w+_(RUNNER|LINKER)$`)

func effectOf(name string) effect {
	switch {
	case configVariable.MatchString(name):
		return effect{kind: harms}
	case runnerVariable.MatchString(name):
		return effect{kind: commands}
	}
	return effects[name]
}

// sets looks at a variable that a command is given, or all that follow are.
func (a *analysis) sets(name string, value text, stays bool) {
	name = strings.TrimSuffix(name, "+")
	e := effectOf(name)
	switch s := string(value); e.kind {
	case harms:
		a.unknown("it sets " + name + ", which changes what runs")
		if value.known() && strings.ContainsAny(s, "$`") {
			a.twice(s) // BASH_ENV is expanded, too
		}
	case lasting:
		if stays {
			a.unknown("it sets " + name + ", which changes what runs")
		}
	case commands:
		if !value.known() {
			a.unknown("the command in " + name + " is known only when it runs")
		} else if s = strings.TrimLeft(s, "|-"); strings.TrimSpace(s) != "" && !(name == "SHELL" && !doubtful(s) && strings.HasPrefix(s, "/")) {
			a.read(s)
		}
	case prompts:
		if !value.known() {
			a.unknown("what " + name + " runs is known only when it runs")
		} else if strings.ContainsAny(s, "$`\\") {
			a.twice(s)
			a.unknown("the shell expands " + name)
		}
	case options:
		if !value.known() || !e.benign.MatchString(s) {
			a.unknown(name + " may have programs start others")
			a.guess([]word{{text: value}})
		}
	case homes:
		a.homed = true
	}
}

func (a *analysis) setsAll(assigns []word, stay bool) {
	for _, w := range assigns {
		if name, value, set := cutText(w.text); set {
			a.sets(name, value, stay)
		}
	}
}

// cutText takes NAME=VALUE apart.
func cutText(t text) (name string, value text, set bool) {
	for i, r := range t {
		if r == '=' {
			return string(t[:i]), t[i+1:], true
		}
	}
	return string(t), nil, false
}
