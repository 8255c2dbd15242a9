package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// wraps are ways to run any command line.
var wraps = []func(string) string{
	func(c string) string { return "true; " + c },
	func(c string) string { return c + "\n true" },
	func(c string) string { return "false || {\n" + c + "\n}" },
	func(c string) string { return "(\n" + c + "\n)" },
	func(c string) string { return "cat x | (\n" + c + "\n) | cat" },
	func(c string) string { return "echo $(\n" + c + "\n)" },
	func(c string) string { return "echo \"a $(\n" + c + "\n) b\"" },
	func(c string) string { return "X=$(\n" + c + "\n) true" },
	func(c string) string { return "diff <(\n" + c + "\n) y" },
	func(c string) string { return "if true; then\n" + c + "\nelse x; fi" },
	func(c string) string { return "while\n" + c + "\ndo x; done" },
	func(c string) string { return "for i in a b; do\n" + c + "\ndone" },
	func(c string) string { return "case x in *)\n" + c + "\n;; esac" },
	func(c string) string { return "f() {\n" + c + "\n}; f" },
	func(c string) string { return "cat <<E_O_F\n$(\n" + c + "\n)\nE_O_F" },
	func(c string) string { return "sh <<'E_O_F'\n" + c + "\nE_O_F" },
	func(c string) string { return "sh -c " + quote(c) },
	func(c string) string { return "/bin/bash -lc " + quote(c) },
	func(c string) string { return "eval " + quote(c) },
	func(c string) string { return "env A=b sh -c " + quote(c) },
	func(c string) string { return "sudo -u root -E bash -c " + quote(c) },
	func(c string) string { return "timeout -k 1 5 nice -n 3 nohup sh -c " + quote(c) + " &" },
	func(c string) string { return "xargs -0 -n 1 sh -c " + quote(c) },
	func(c string) string { return "find . -name x -exec sh -c " + quote(c) + ` \;` },
	func(c string) string { return "stdbuf -oL setsid command exec bash -c " + quote(c) },
	func(c string) string { return "time ! bash <<< " + quote(c) },
	func(c string) string { return "trap " + quote(c) + " EXIT" },
	func(c string) string { return "watch -n 1 " + quote(c) },
}

// However a denied command is wrapped, it never becomes an allowed one.
func TestWrappingNeverAllows(t *testing.T) {
	policies := []Policy{
		try(t, "default allow; deny bash rm *"), try(t, "default allow; deny bash rm *; allow bash sh *; allow bash sudo *"),
		try(t, "default allow; deny bash"), try(t, "default deny; allow bash true *; allow bash echo *; allow bash cat *"), try(t, "allow *; deny bash *rm*"),
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for n := range 1000 {
		command := []string{"rm x", "rm -rf /", "'rm' \"x\"", "/bin/rm $X", "rm"}[n%5]
		for range random.IntN(5) {
			command = wraps[random.IntN(len(wraps))](command)
		}
		for i, p := range policies {
			if v := p.Decide(Call{Tool: Bash, Command: command}); v.Action == Allow {
				t.Fatalf("seed %d, policy %d allows\n%s\nbecause of %s", seed, i, command, p.Because(v))
			}
		}
	}
}

// Whatever somebody writes as a command: it is decided, quickly, the same each
// time; where there is one decision only it is that; a rule to deny never makes
// anything milder; and what is denied stays so when it is wrapped.
func FuzzDecide(f *testing.F) {
	for _, c := range []string{"ls", "rm x", "$X", "echo $(rm x)", "sh -c 'rm x'", "{a,b}{c,d}", "cat <<E\n$(x)\nE", "find . -exec rm {} +", "a=(b c)", "f() { g; }", "`", "${x[`y`]}", "rm\\\n x", "x >&- 2>/y"} {
		f.Add(c, uint8(3))
	}
	open, closed := Policy{Default: Allow, Workspace: "/w"}, Policy{Default: Deny, Workspace: "/w"}
	some := Policy{Default: Allow, Workspace: "/w", Rules: []Rule{{Tool: Bash, Match: map[string]string{"command": "rm *"}, Action: Deny}}}
	f.Fuzz(func(t *testing.T, command string, which uint8) {
		if len(command) > 2000 {
			return
		}
		call := Call{Tool: Bash, Command: command}
		if v := closed.Decide(call); v.Action != Deny {
			t.Errorf("default deny: %+v", v)
		}
		if v := open.Decide(call); v.Action != Allow {
			t.Errorf("default allow: %+v", v)
		}
		v := some.Decide(call)
		if again := some.Decide(call); again != v {
			t.Errorf("%+v, then %+v", v, again)
		}
		if v.Action != Deny {
			return // asked, perhaps, for being no command
		}
		call.Command = wraps[int(which)%len(wraps)](command)
		if w := some.Decide(call); w.Action == Allow {
			t.Errorf("%q is %s, wrapped as %q it is allowed", command, v.Action, call.Command)
		}
	})
}

// A command made to be slow to decide is not.
func BenchmarkDecide(b *testing.B) {
	p := Policy{Default: Ask, Workspace: "/w"}
	for i := range 100 {
		p.Rules = append(p.Rules, Rule{Tool: Bash, Match: map[string]string{"command": fmt.Sprintf("*a*b*c*%d*", i)}, Action: Deny})
	}
	for name, command := range map[string]string{
		"plain": "go test ./... && git status | head -5", "long": strings.Repeat("abc ", maxCommand/4), "many": strings.Repeat("a b c;", maxCommand/6),
		"nested": strings.Repeat("$(", 3000) + strings.Repeat(")", 3000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.Decide(Call{Tool: Bash, Command: command})
			}
		})
	}
}
