package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryCommand walks the command line: each command says in short what it
// does, shows how, has a script that calls it and a manual page without faults.
func TestEveryCommand(t *testing.T) {
	var scripts strings.Builder
	for _, pattern := range []string{"testdata/script/*.txtar", "../../e2e/testdata/script/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			scripts.Write(b)
		}
	}
	a := &app{hooks: Hooks{Version: "v0.0.0-test"}, getenv: os.Getenv}
	root := newRoot(a)
	seen := map[string]bool{}
	for _, cmd := range shown(root) {
		name := cmd.CommandPath()
		seen[name] = true
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short is %q", name, cmd.Short)
		}
		if !strings.Contains(cmd.Example, "paddock") {
			t.Errorf("%s has no example", name)
		}
		if cmd.Parent() == root && cmd.GroupID == "" {
			t.Errorf("%s is in no group", name)
		}
		if !cmd.HasSubCommands() && !called(scripts.String(), cmd) {
			t.Errorf("no script calls %s", name)
		}
		for _, flag := range []string{"name", "limit", "timeout"} {
			if f := cmd.LocalFlags().Lookup(flag); f != nil && f.Usage == "" {
				t.Errorf("%s: --%s says nothing", name, flag)
			}
		}
		lint(t, name, a.manPage(cmd))
	}
	for _, name := range []string{"paddock", "paddock run watch", "paddock wait", "paddock login", "paddock completion bash"} {
		if !seen[name] {
			t.Errorf("%s is not shown", name)
		}
	}
}

// called says whether a script calls a command by its name or an alias.
func called(scripts string, cmd *cobra.Command) bool {
	names := append([]string{cmd.Name()}, cmd.Aliases...)
	before := strings.TrimPrefix(strings.TrimPrefix(cmd.Parent().CommandPath(), "paddock"), " ")
	pattern := `(?m)\bpaddock ` + regexp.QuoteMeta(before)
	if before != "" {
		pattern += " "
	}
	return regexp.MustCompile(pattern + `(` + strings.Join(names, "|") + `)\b`).MatchString(scripts)
}

// lint lets a program that shows manual pages complain.
func lint(t *testing.T, name, page string) {
	t.Helper()
	cmd := exec.Command("mandoc", "-T", "lint", "-W", "error")
	if _, err := exec.LookPath("mandoc"); err != nil {
		cmd = exec.Command("groff", "-man", "-ww", "-Tutf8", "-z")
	}
	if cmd.Err != nil {
		t.Run("lint "+name, func(t *testing.T) { t.Skip("neither mandoc nor groff is here to look at manual pages") })
		return
	}
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the page of %s: %v\n%s", name, err, out)
	}
}

// TestBashCompletes lets a real bash source the script and complete.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	server := servePlayed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	// As testscript has it: the test's program is the command of its own name.
	if err := os.Symlink(self, filepath.Join(bin, "paddock")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ words, want string }{
		{"paddock sho", "show"},
		{"paddock show b", "busy"},
		{"paddock list --sea", "--search"},
		{"paddock files cat hello a", "a.txt"},
	} {
		script := `source <(paddock completion bash)
words=(` + c.words + `); COMP_WORDS=("${words[@]}"); COMP_CWORD=$((${#words[@]}-1)); COMP_LINE="${words[*]}"; COMP_POINT=${#COMP_LINE}
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
__start_paddock
printf '%s\n' "${COMPREPLY[@]}"`
		cmd := exec.Command(bash, "--norc", "-c", script)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PADDOCK_URL="+server, "PADDOCK_TOKEN=secret")
		out, err := cmd.Output()
		if got, _, _ := strings.Cut(strings.TrimSpace(string(out)), " "); err != nil || got != c.want {
			t.Errorf("%q completes to %q, want %q (%v)", c.words, out, c.want, err)
		}
	}
}
