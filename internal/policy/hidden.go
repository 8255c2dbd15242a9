package policy

import (
	"regexp"
	"slices"
	"strings"
)

// runners are programs that start others in too many ways to be read.
var runners = strings.Fields(`aa-exec at autossh batch bwrap capsh catchsegv cgexec chpst coresched cpulimit crontab csh daemon daemonize dbus-run-session
	dc dtach dumb-init eatmydata ed elvish emacs entr envdir envuidgid ex expect fakechroot fakeroot firejail fish flock gdb gdbserver gosu heaptrack
	hyperfine i386 irb jshell linux32 linux64 lldb logsave ltrace lxc-execute m4 machinectl mosh nc ncat newgrp nix-shell nsenter nu numactl nvim
	octave parallel perf pexec pkexec prlimit proot proxychains proxychains4 pry pwsh rexec rlwrap rr rsh run-one run-parts runcon runuser
	rush schedtool screen script sem setarch setpriv setuidgid sg slogin socat softlimit ssh sshpass start-stop-daemon strace su su-exec
	systemd-nspawn systemd-run tcsh tclsh timelimit tini tmux torify torsocks tsocks uclampset unbuffer unshare valgrind vi view vim vimdiff
	watchexec x86_64 xonsh xterm xvfb-run`)

// code are the options by which programs are given code to run.
var code = map[string][]string{
	"python": {"-c"}, "perl": {"-e", "-E"}, "ruby": {"-e"}, "node": {"-e", "-p", "--eval", "--print"}, "nodejs": {"-e", "-p", "--eval", "--print"},
	"php": {"-r", "-B", "-R", "-E"}, "lua": {"-e"}, "bun": {"-e", "--eval"}, "deno": {"eval"}, "osascript": {"-e"},
	"tar": {"--to", "--checkpoint-a", "-I", "--use", "--rsh", "--info", "--new", "-F"}, "rsync": {"-e", "--rsh"},
	"zip": {"-TT", "--unzip-c"}, "fd": {"-x", "-X", "--exec"}, "fdfind": {"-x", "-X", "--exec"}, "rg": {"--pre"}, "make": {"--eval", "SHELL="},
	"hash": {"-p"}, "enable": {""}, "bind": {""}, "mapfile": {"-C"}, "readarray": {"-C"}, "complete": {"-C", "-F"},
	"sort": {"--compress"}, "man": {"-P", "--pager", "-H"}, "npx": {"-c", "--call"}, "npm": {"exec", "x"},
	"split": {"--filter"}, "csplit": {"--filter"}, "compgen": {"-C", "-W", "-F"}, "jobs": {"-x"}, "fc": {""}, "scp": {"-S", "-o"}, "sftp": {"-S", "-o", "-D"},
	"docker": {"run", "exec"}, "podman": {"run", "exec"}, "nerdctl": {"run", "exec"}, "kubectl": {"run", "exec", "debug"}, "docker-compose": {"run", "exec"},
	"less": {"+"}, "more": {"+"}, "nano": {"-s", "--speller"}, "dpkg": {"--pre-invoke", "--post-invoke"}, "apt": {"-o"}, "apt-get": {"-o"}, "cargo": {"--config"},
	"go": {"-exec", "-toolexec", "--exec", "--toolexec"}, "julia": {"-e", "-E"}, "Rscript": {"-e"}, "R": {"-e"}, "psql": {"\\!"}, "sqlite3": {".shell", ".system"},
	"ts-node": {"-e"}, "tsx": {"-e"}, "guile": {"-c"}, "elixir": {"-e"}, "erl": {"-eval"}, "groovy": {"-e"}, "wget": {"--use-askpass", "--execute", "-e"}, "ag": {"--pager"},
	"gmake": {"--eval", "SHELL="}, "logrotate": {""}, "install": {"--strip-program"}, "ncftp": {"!"}, "dpkg-architecture": {"-c"},
}

// languages are programs whose code is not the shell's.
var languages = []string{"python", "perl", "ruby", "node", "php", "lua"}

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
		u.analysis.guess(u.args)
	case strings.HasSuffix(name, "awk") && u.has(awkCode):
		u.analysis.unknown("its " + name + " program may start others")
	case strings.HasSuffix(name, "sed") && u.has(sedCode):
		u.analysis.unknown("its " + name + " script may start others")
	case slices.Contains(languages, name) && (len(u.args) == 0 || u.args[len(u.args)-1].is("-")):
		u.analysis.unknown("what " + name + " is given to run is known only when it runs")
	case u.given(code[name]):
		u.analysis.unknown(name + " is given code to run")
		if !slices.Contains(languages, name) {
			u.analysis.guess(u.args)
		}
	}
	u.project()
}

// has says whether an argument matches, or may.
func (u *unwrapping) has(r *regexp.Regexp) bool {
	return slices.ContainsFunc(u.args, func(w word) bool {
		return !w.text.known() || !w.is("-e") && !w.is("-ne") && r.MatchString(string(w.text))
	})
}

// given says whether one of the options is among the arguments, alone, bundled
// with others of one letter, or with its value behind it.
func (u *unwrapping) given(options []string) bool {
	for _, o := range options {
		for i, w := range u.args {
			s := string(w.text)
			switch {
			case s == o || strings.HasPrefix(s, o) && (o == "" || strings.ContainsAny(o, "-+=!.")):
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
