package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRepos(t *testing.T) {
	got, warnings := parsed(t, `agent: none
egress: [example.com]
repos:
- octo/hello.world
- https://git.example.com/team/a.git
- {repo: octo/other, branch: fix/1, depth: 1, path: src/other/}
- {url: "http://203.0.113.9:3000/b", path: /workspace/third}
`)
	want := []Repo{
		{URL: "https://github.com/octo/hello.world", Path: "hello.world"},
		{URL: "https://git.example.com/team/a.git", Path: "a"},
		{URL: "https://github.com/octo/other", Path: "src/other", Branch: "fix/1", Depth: 1},
		{URL: "http://203.0.113.9:3000/b", Path: "third"},
	}
	if diff := cmp.Diff(want, got.Repos); diff != "" {
		t.Errorf("repos (-want +got):\n%s", diff)
	}
	if hosts := strings.Join(got.Egress.AllowHosts, " "); hosts != "example.com github.com git.example.com" {
		t.Errorf("hosts: %s", hosts)
	}
	if diff := cmp.Diff(`line 4: repos: github.com was added to egress, for repository https://github.com/octo/hello.world
line 5: repos: git.example.com was added to egress, for repository https://git.example.com/team/a.git
line 7: repos: 203.0.113.9 was added to egress, for repository http://203.0.113.9:3000/b
line 7: repos: http://203.0.113.9:3000/b is cloned without encryption: what comes may be another's, and passwords can be read on the way`, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestFaultsOfRepos(t *testing.T) {
	for _, tc := range []struct{ repos, want string }{
		{`owner/name`, "repos: wants a list such as [owner/name]"},
		{`[name]`, `repos[0]: "name" is neither owner/name nor an address such as https://git.example.com/team/project.git`},
		{`["git@github.com:a/b"]`, "repos[0]: sandboxes clone over https; write https://HOST/PATH"},
		{`["ssh://github.com/a/b"]`, "repos[0]: sandboxes clone over https; write https://HOST/PATH"},
		{`[/srv/git/a]`, `repos[0]: "/srv/git/a" is neither owner/name nor an address such as https://git.example.com/team/project.git`},
		{`[https://u:p@example.com/a]`, "repos[0]: has a user or password in it; a password belongs into a secret for the host"},
		{`[https://example.com/]`, `repos[0]: "https://example.com/" names no repository`},
		{`[{branch: main}]`, "repos[0].repo: is missing; write owner/name, or the url of a repository"},
		{`[{repo: a/b, url: https://example.com/a}]`, "repos[0].url: goes not with repo; write one of them"},
		{`[{repo: a/b, branch: -x}]`, `repos[0].branch: "-x" is no name of a branch or tag`},
		{`[{repo: a/b, path: ../b}]`, `repos[0].path: "../b" is no folder below the workspace, such as src/project`},
		{`[{repo: a/b, path: /srv}]`, `repos[0].path: "/srv" is no folder below the workspace, such as src/project`},
		{`[{repo: a/b, depth: 0}]`, `repos[0].depth: wants a number of commits such as 1, not "0"`},
		{`[a/b, c/b]`, "repos: https://github.com/c/b would be in b, where another one is; give it a path of its own"},
		{`[a/b, {repo: c/d, path: b/c}]`, "repos: https://github.com/c/d would be in b/c, where another one is; give it a path of its own"},
		{`[[a]]`, "repos[0]: wants keys and values such as {repo: owner/name, branch: main}"},
	} {
		if diff := cmp.Diff("line 2: "+tc.want, faulty(t, "agent: none\nrepos: "+tc.repos)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.repos, diff)
		}
	}
}
