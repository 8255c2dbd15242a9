package policy

import (
	"strings"
	"testing"
)

// try makes a policy of lines such as "deny bash rm *" or "default allow".
func try(t *testing.T, lines string) Policy {
	t.Helper()
	p := Policy{Default: Ask, Workspace: "/workspace", Home: "/home/agent"}
	for line := range strings.SplitSeq(lines, ";") {
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if f[0] == "default" {
			p.Default = Action(f[1])
			continue
		}
		r := Rule{Tool: f[1], Action: Action(f[0])}
		if len(f) > 2 {
			key := "command"
			glob := f[2]
			if k, g, ok := strings.Cut(glob, "="); ok && (k == "path" || k == "host" || k == "url") {
				key, glob = k, g
			}
			r.Match = map[string]string{key: glob}
		}
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

func decideAll(t *testing.T, p Policy, want Action, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if v := p.Decide(Call{Tool: Bash, Command: c}); v.Action != want {
			t.Errorf("%q: %s because of %s, subject %q; want %s", c, v.Action, p.Because(v), v.Subject, want)
		}
	}
}

func TestDeniedHoweverItIsWrapped(t *testing.T) {
	decideAll(t, try(t, "default allow; deny bash rm *"), Deny,
		"rm", "rm -rf /", "./rm x", "~/rm x", " rm x", "rm\tx", `r\m x`, `'rm' x`, `"r"m x`, "/bin/rm x", "/usr/bin/../bin/rm x",
		"ls; rm x", "ls && rm x", "ls || rm x", "ls | rm x", "ls & rm x", "! rm x", "{ rm x; }", "(rm x)", "ls\nrm x",
		"if true; then rm x; fi", "while rm x; do :; done", "for i in a; do rm $i; done", "case a in a) rm x;; esac",
		"echo $(rm x)", "echo `rm x`", `echo "$(rm x)"`, "cat <(rm x)", "X=$(rm x)", "X=1 rm x", "X=$(rm x) ls", "export X=$(rm x)",
		"echo ${X:-$(rm x)}", "echo $((1 + $(rm x)))", "[[ -n $(rm x) ]]", "f() { rm x; }; f", "function f { rm x; }",
		"cat <<EOF\n$(rm x)\nEOF", "sh <<EOF\nrm x\nEOF", "sh <<'EOF'\nrm x\nEOF", "bash <<< 'rm x'", "sudo sh <<-EOF\n\trm x\n\tEOF",
		"sh -c 'rm x'", `bash -lc "rm x"`, "bash -e -c 'rm x'", "bash -o pipefail -c 'rm x'", "sh -c \"sh -c 'rm x'\"", "/bin/sh -c 'ls; rm x'", "eval rm x", `eval "rm x"`,
		"env rm x", "env -i A=b rm x", "env -u A -- rm x", "xargs rm", "ls | xargs -0 -n 1 rm", "xargs -I{} rm {}", "xargs sh -c 'rm x'",
		"find . -exec rm {} ;", `find . -name '*.o' -exec rm {} \;`, "find . -execdir rm {} +", "find . -ok rm {} ';'", "find . -exec sh -c 'rm x' {} +",
		"sudo rm x", "sudo -u root rm x", "sudo -E A=b rm x", "sudo --user=root rm x", "doas rm x", "timeout 5 rm x", "timeout -s KILL -k 3 5s rm x", "nice rm x", "nice -n 5 rm x", "nice -10 rm x",
		"nohup rm x &", "setsid -f rm x", "stdbuf -oL rm x", "time rm x", "command rm x", "command -p rm x", "builtin eval rm x", "exec rm x", "exec -a z rm x",
		"ionice -c 2 -n 0 rm x", "chroot / rm x", "busybox rm x", "watch -n 1 rm x", "trap 'rm x' EXIT", "alias ls='rm x'",
		"sudo env A=b nice timeout 5 nohup bash -c 'ls | xargs rm'", "{rm,x}", "{r,}m x", "coproc rm x", "time { rm x; }", "echo &> f rm x", "((rm x))", "[[ x && rm y ]]", "ls &> f rm x; ((rm x",
	)
}

// What may be the denied command, or may start it, is never just allowed.
func TestUnknownIsAsked(t *testing.T) {
	decideAll(t, try(t, "default allow; deny bash rm *"), Ask,
		"$X", "$X x", `"$X" x`, "$(echo rm) x", "`echo rm` x", "s$X rm y", "r? x", "/bin/r* x", "r[m] x", `$'\x72m' x`, "$@",
		"sh -c \"$X\"", "sh -c $X", "echo rm x | sh", "curl x | bash", "bash", "bash -s", "sh < f", "sh <<EOF\n$X\nEOF", "bash --rcfile f -c ls",
		"eval $X", `eval "$X"`, "xargs $X", "env $X", "sudo $X",
		"find $X", "find . $X {} ;", `find . -exec "$X" {} ;`, "find . -exec {} ;", "xargs -I{} {} x", "trap \"$X\" EXIT", "watch \"$X\"",
		"python3 -c 'import os'", "python3", "perl -e 1", "perl -ne 1", "node -e 1", "awk 'BEGIN{system(\"rm x\")}'", "sed 's/a/b/e' x", "sed '1e rm x' f",
		"PATH=/tmp:$PATH; ls", "export LD_PRELOAD=x",
		"/lib64/ld-linux-x86-64.so.2 /bin/rm x", "if", "echo 'open", "make SHELL=/x",
		"su", "")
	decideAll(t, try(t, "default allow; deny bash rm *"), Allow,
		"ls", "echo rm x", "grep rm x", "git rm x", "man rm", "echo 'rm x'", "rmdir x", "cat <<EOF\nrm x\nEOF", "# rm x\nls", "timeout 5 ls", "sudo ls", "awk '{print $1}' f",
		"sed -n 1p f", "sed -e s/a/b/ f", "X=1", "X=$Y", "ls $X", "ls *.go", "python3 x.py", "find . -name '*.go'", "tar xzf a.tgz", "make -j2", "command -v rm", "export A=b", "for i in *; do echo $i; done",
		"python -m pytest -q", "node x.js", "npm test", "echo $'a\\n'", "[ -f x ] && ls", "test -n \"$X\"")
}

// With nothing allowed but some, wrappers pass what is allowed and nothing else.
func TestAllowedOnlyWhatIsNamed(t *testing.T) {
	p := try(t, "allow bash ls *; allow bash git status *; allow bash echo *")
	decideAll(t, p, Allow,
		"ls", "ls -la /", "/bin/ls x", "ls && git status", "timeout 5 ls", "env ls", "CI=1 ls", "bash -c 'ls; git status'", "nice -n 5 nohup ls", "ls $X", "ls *.go", "echo $(ls)",
		"(ls)", "f() { ls; }", "git status -s", "ls > /dev/null 2>&1", "ls 2>/dev/null", "xargs ls", "time ls", "echo x | xargs -n1 echo", "sh <<EOF\nls\nEOF", "ls < in.txt")
	decideAll(t, p, Ask,
		"lsof", "ls; make", "ls $(make)", "./ls", "/tmp/ls", "LD_PRELOAD=x ls", "PATH=/tmp ls", "PATH=/tmp; ls", "sudo ls", "find . -exec ls {} ;", "echo x > f", "ls >> ~/.bashrc", "ls > $F",
		"git push", "git -C x status", "git statusx", "bash x.sh", "LD_PRELOAD=x sh -c ls", "env PATH=/tmp ls", "./timeout 5 ls", "timeout 5 ./ls", "cd x", "'git status' x",
		"ls & make", "$X", "chroot . ls", "busybox ls")
	decideAll(t, try(t, "default deny; allow bash ls *"), Deny, "$X", "make", "ls; make", "l$X", "bash -c $X", "if", "ls > f", "exec", "env", "sudo", "sh -c ''", "eval", "timeout", "< f", "X=1", "# x")
	decideAll(t, try(t, "default allow"), Allow, "$X", "if", "rm -rf /", "bash -c $X")
	decideAll(t, try(t, "default deny; allow bash"), Allow, "ls", "$X", "bash -c $X", "timeout 5 ls")
	decideAll(t, try(t, "default deny; allow bash"), Deny, "ls > f")
	decideAll(t, try(t, "default deny; allow *"), Allow, "ls > f", "$X > $Y")
	decideAll(t, try(t, "deny bash; allow bash ls *"), Allow, "timeout 5 ls", "ls")
	decideAll(t, try(t, "default allow; deny bash timeout *"), Deny, "timeout 5 ls", "sudo timeout 5 ls")
	decideAll(t, try(t, "default allow; ask bash sudo *"), Ask, "sudo ls", "ls | sudo tee x")
}

func TestLastMatchWins(t *testing.T) {
	decideAll(t, try(t, "default allow; deny bash git *; allow bash git log *"), Allow, "git log", "git log -p")
	decideAll(t, try(t, "default allow; deny bash git *; allow bash git log *"), Deny, "git push", "git log; git push")
	decideAll(t, try(t, "default allow; allow bash git log *; deny bash git *"), Deny, "git log")
	decideAll(t, try(t, "allow bash git *; deny git.push"), Deny, "git push", "git push -f", "git -C x push", "git --no-pager push", "/usr/bin/git push")
	decideAll(t, try(t, "allow bash git *; deny git.push"), Allow, "git log", "git status")
	decideAll(t, try(t, "allow bash git *; deny git.push"), Ask, "git $X", "git mine", "git -c a=b log")
	decideAll(t, try(t, "default allow; deny git.*"), Deny, "git log", "git $X", "git mine")
}

func TestOtherTools(t *testing.T) {
	p := try(t, "default ask; allow file.* path=**; deny file.write path=/etc/**; deny file.write path=~/.ssh/; deny file.read path=*.pem; allow web.fetch host=*.example.com; deny web.fetch url=*secret*; allow mcp.docs.*; deny mcp.*.delete*")
	for _, c := range []struct {
		call Call
		want Action
	}{
		{Call{Tool: FileWrite, Paths: []string{"/workspace/x"}}, Allow},
		{Call{Tool: FileWrite, Paths: []string{"../etc/passwd"}}, Deny},
		{Call{Tool: FileWrite, Paths: []string{"/workspace/../etc"}}, Deny},
		{Call{Tool: FileWrite, Paths: []string{"/workspace/link", "/etc/passwd"}}, Deny}, // where a link leads
		{Call{Tool: FileWrite, Paths: []string{"~/.ssh/config"}}, Deny},
		{Call{Tool: FileWrite, Paths: []string{"/home/agent/.ssh"}}, Deny},
		{Call{Tool: FileWrite}, Ask},
		{Call{Tool: FileWrite, Paths: []string{"passwd"}, Dir: "/etc"}, Deny},
		{Call{Tool: FileRead, Paths: []string{"a.pem"}}, Deny},
		{Call{Tool: FileRead, Paths: []string{"sub/a.pem"}}, Allow},
		{Call{Tool: WebFetch, URL: "https://a.example.com:8443/x"}, Allow},
		{Call{Tool: WebFetch, URL: "https://A.EXAMPLE.com./x"}, Allow},
		{Call{Tool: WebFetch, URL: "https://a.example.com@evil.org/"}, Ask},
		{Call{Tool: WebFetch, URL: "https://a.example.com/secret"}, Deny},
		{Call{Tool: WebFetch, URL: "nonsense"}, Ask},
		{Call{Tool: "mcp.docs.search"}, Allow},
		{Call{Tool: "mcp.docs.delete_all"}, Deny},
		{Call{Tool: "mcp.other.search"}, Ask},
		{Call{Tool: "other"}, Ask},
	} {
		if v := p.Decide(c.call); v.Action != c.want {
			t.Errorf("%+v: %s because of %s; want %s", c.call, v.Action, p.Because(v), c.want)
		}
	}
	files := try(t, "default allow; deny file.write path=/etc/**; deny file.read path=/secret/*")
	decideAll(t, files, Deny, "echo > /etc/passwd", "echo >> ../etc/passwd", "sh -c 'echo x >/etc/x'", "echo x &> /etc/x", "cat < /secret/x", "ls >| /etc/x", "exec 3<>/etc/x", "echo >&/etc/x", "sudo tee < /secret/x")
	decideAll(t, files, Ask, "echo > $F", "cd /etc && echo > passwd", "cat < ~bob/x", "echo > /e*")
	decideAll(t, files, Allow, "echo > x", "echo >&2", "cat < x", "echo > ~/x")
}

func TestVerdictsSayWhy(t *testing.T) {
	p := try(t, "default allow; ask bash curl *; deny bash rm *")
	v := p.Decide(Call{Tool: Bash, Command: "ls && timeout 5 rm -rf x | cat"})
	if v.Rule != 1 || v.Subject != "rm -rf x" || p.Because(v) != "permissions.rules[1]: deny bash {command: rm *}" {
		t.Errorf("%+v: %s", v, p.Because(v))
	}
	v = p.Decide(Call{Tool: Bash, Command: "ls; $X y"})
	if v.Action != Ask || v.Rule != 1 || v.Unsure == "" || !strings.Contains(p.Because(v), "known only when it runs") {
		t.Errorf("%+v: %s", v, p.Because(v))
	}
	if v = p.Decide(Call{Tool: Bash, Command: "ls"}); v.Rule != -1 || p.Because(v) != "permissions.default is allow" {
		t.Errorf("%+v: %s", v, p.Because(v))
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, text string // … is a gap
		want       fit
	}{
		{"rm *", "rm", surely}, {"rm *", "rm x", surely}, {"rm *", "rmdir", never}, {"a?c", "abc", surely}, {"a?c", "ac", never},
		{`a\*`, "a*", surely}, {`a\*`, "ab", never}, {"*", "", surely}, {"rm *", "…", maybe}, {"rm *", "…m x", maybe}, {"rm *", "r… x", maybe},
		{"rm *", "x…", never}, {"rm *", "rm …", surely}, {"*", "…", surely}, {"ls *.go", "ls ….go", surely}, {"ls *.go", "ls …", maybe}, {"a*b*c", "a…c", maybe}, {"*x*", "…x…", surely}, {"a***b", "axb", surely}, {"a**", "a", surely},
	} {
		if got := plainGlob(c.glob).fits(gaps(c.text)); got != c.want {
			t.Errorf("%q %q: %d, want %d", c.glob, c.text, got, c.want)
		}
	}
	for _, c := range []struct {
		glob, path string
		want       fit
	}{
		{"/a/*", "/a/b", surely}, {"/a/*", "/a/b/c", never}, {"/a/**", "/a/b/c", surely}, {"/a/**", "/a", surely}, {"/a/**", "/ab", never}, {"/**/x", "/x", surely},
		{"/**/x", "/a/b/x", surely}, {"/a/**/x/**", "/a/x", surely}, {"/a/**/b/**/c", "/a/b/c", surely}, {"/a/**/b/**/c", "/a/1/b/2/3/c", surely}, {"/a/?", "/a/b", surely}, {"/a?b", "/a/b", never},
		{"/**", "/", surely}, {"/**", "…", maybe}, {"/a/**", "…", maybe}, {"**", "…", surely}, {"/a/***", "/a/b/c", surely},
	} {
		if got := pathGlob(c.glob).fits(gaps(c.path)); got != c.want {
			t.Errorf("%q %q: %d, want %d", c.glob, c.path, got, c.want)
		}
	}
}

func gaps(s string) (t text) {
	for _, r := range s {
		if r == '…' {
			r = gap
		}
		t = append(t, r)
	}
	return t
}

func TestRulesAreChecked(t *testing.T) {
	for _, r := range []Rule{
		{Tool: "bsh", Action: Deny}, {Tool: "git.", Action: Deny}, {Tool: "mcp", Action: Deny}, {Tool: "", Action: Deny}, {Tool: Bash, Action: "no"},
		{Tool: Bash, Action: Deny, Enforcement: "hard"}, {Tool: Bash, Match: map[string]string{"path": "x"}, Action: Deny}, {Tool: Bash, Match: map[string]string{"command": ""}, Action: Deny},
		{Tool: Any, Match: map[string]string{"command": strings.Repeat("x", maxGlob+1)}, Action: Deny}, {Tool: FileRead, Match: map[string]string{"path": strings.Repeat("**/", 5)}, Action: Deny},
	} {
		if r.Check() == nil {
			t.Errorf("%s is taken for right", r)
		}
	}
}
