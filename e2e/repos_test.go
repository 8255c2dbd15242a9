package e2e

import (
	"context"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// gitServer serves repositories of a folder at /git/ of the far host; those below
// private/ to who knows user and password.
func (f *far) gitServer(t *testing.T, user, password string) (folder string) {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, missing := os.Stat(backend); err != nil || missing != nil {
		t.Skip("git is not installed, so nothing can be cloned")
	}
	folder = t.TempDir()
	served := &cgi.Handler{Path: backend, Root: "/git", Env: []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + folder}}
	f.git = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); strings.HasPrefix(r.URL.Path, "/git/private/") && (!ok || u != user || p != password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		served.ServeHTTP(w, r)
	})
	return folder
}

// bareRepo makes a repository with a file and a branch "next", and gives the
// commit of its main branch.
func bareRepo(t *testing.T, path string) (head string) {
	t.Helper()
	script := `set -e
git init -q -b main "$1.work"; cd "$1.work"
git config user.email a@example.com; git config user.name a
printf 'one\ntwo\nthree\n' > file; printf 'x\0y' > binary; echo '*.log' > .gitignore; echo moved around with enough in it > old
git add -A; git commit -qm first
git branch next; git checkout -q next; echo next > file; git commit -qam second; git checkout -q main
git clone -q --bare . "$1"; git rev-parse HEAD`
	out, err := exec.Command("sh", "-c", script, "sh", path).CombinedOutput()
	if err != nil {
		t.Fatalf("make a repository: %v %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

type sessionDiff struct {
	Repos []struct {
		Path, URL, Base, Patch, Problem string
		Truncated                       bool
		Files                           []struct {
			Path, From, Status   string
			Additions, Deletions int
			Binary               bool
		}
	}
}

func (s *server) diff(id, query string) (d sessionDiff) {
	s.t.Helper()
	s.call(http.MethodGet, "/sessions/"+id+"/diff"+query, nil, http.StatusOK, &d)
	return d
}

// Repositories are there when a session is ready, and what changes in them is
// told, whoever changed it and however.
func TestRepos(t *testing.T) {
	f := newFar(t)
	folder := f.gitServer(t, "", "")
	head := bareRepo(t, filepath.Join(folder, "one.git"))
	bareRepo(t, filepath.Join(folder, "two.git"))
	if out, err := exec.Command("git", "init", "-q", "--bare", filepath.Join(folder, "empty.git")).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	s := startServer(t, "--dns", f.addr, "--pool", "1")
	s.waitSpares(1)
	made := s.createNoWait(`
agent: demo
permissions: {default: allow}
egress: [example.test]
repos:
- http://far.test/git/one.git
- {url: http://far.test/git/two.git, branch: next, path: src/second, depth: 1}
- http://far.test/git/empty.git
`)
	if w := strings.Join(made.Warnings, "\n"); !strings.Contains(w, "far.test was added to egress, for repository http://far.test/git/one.git") {
		t.Errorf("warnings: %s", w)
	}
	id := made.SessionID
	s.waitStatus(id, godo.HostedAgentSessionStatusReady)
	if got := s.sh(id, "cat one/file src/second/file; stat -c %U one/file; git -C src/second rev-list --count HEAD; git -C one rev-parse HEAD"); got != "one\ntwo\nthree\nnext\nagent\n1\n"+head+"\n" {
		t.Errorf("cloned: %q", got)
	}
	var said string
	for _, e := range s.history(id) {
		said += string(e.Payload) + "\n"
	}
	for _, part := range []string{"cloning http://far.test/git/one.git into one", "cloned http://far.test/git/one.git into one in ", head[:12] + " of branch main", "it has no commits yet"} {
		if !strings.Contains(said, part) {
			t.Errorf("the history does not say %q:\n%s", part, said)
		}
	}
	if d := s.diff(id, ""); len(d.Repos) != 3 || len(d.Repos[0].Files)+len(d.Repos[1].Files)+len(d.Repos[2].Files) != 0 || d.Repos[0].Base != head || d.Repos[2].Base != "" {
		t.Errorf("before anything changed: %+v", d)
	}

	// Committed, staged, neither, unknown to git, ignored, hidden in the index; and
	// a configuration that would have programs run by who asks.
	s.turn(id, `run cd one && git config user.email b@example.com && git config user.name b && echo four >> file && git commit -qam third &&
		git update-index --assume-unchanged .gitignore && echo x >> .gitignore && git mv old new && printf 'y\0z' > binary && printf 'a"b\n' > 'new "file"' && echo no > a.log &&
		git config core.fsmonitor 'touch /tmp/ran;:' && git config filter.f.clean 'touch /tmp/ran; cat' && git config diff.external 'touch /tmp/ran' &&
		echo '* filter=f' > .git/info/attributes && cd ../empty && echo first > first`)
	run := s.send(id, "slow 2000") // while the agent works
	d := s.diff(id, "")
	got := map[string]string{}
	for _, file := range d.Repos[0].Files {
		got[file.Path] = file.Status
		if file.Binary {
			got[file.Path] += " binary"
		}
		if file.From != "" {
			got[file.Path] += " from " + file.From
		}
	}
	want := map[string]string{"file": "modified", ".gitignore": "modified", "new": "renamed from old", "binary": "modified binary", `new "file"`: "added"}
	for path, how := range want {
		if got[path] != how {
			t.Errorf("%s: %q, want %q", path, got[path], how)
		}
	}
	if len(got) != len(want) || !strings.Contains(d.Repos[0].Patch, "\n+four\n") || d.Repos[0].Base != head {
		t.Errorf("one: %+v", d.Repos[0])
	}
	if r := d.Repos[2]; len(r.Files) != 1 || r.Files[0].Path != "first" || r.Files[0].Additions != 1 {
		t.Errorf("empty: %+v", r)
	}
	if len(s.diff(id, "?patch=false").Repos[0].Patch) != 0 {
		t.Error("a patch that nobody asked for")
	}
	if got := s.sh(id, "ls /tmp/ran 2>&1; git -C one status --porcelain --untracked-files=no | wc -l"); !strings.Contains(got, "No such file") {
		t.Errorf("the comparison ran what the agent had named: %s", got)
	}
	s.cancel(id, run)
	s.waitRun(id, run)
	if _, err := s.client().HostedAgents.PauseSession(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	if d := s.diff(id, ""); len(d.Repos[0].Files) != len(want) {
		t.Errorf("of a paused session: %+v", d)
	}
	s.sh(id, "rm -rf src/second/.git")
	if d := s.diff(id, ""); d.Repos[1].Problem != "is no git repository any more" || d.Repos[0].Problem != "" {
		t.Errorf("without a repository: %+v", d)
	}
	out, _, _ := s.cli("diff", id, "--name-only")
	if !strings.Contains(out, "one/file\n") || !strings.Contains(out, "empty/first\n") {
		t.Errorf("paddock diff: %s", out)
	}
	bare := s.create("agent: none\n").SessionID
	if d := s.diff(bare, ""); d.Repos == nil || len(d.Repos) != 0 {
		t.Errorf("without repos: %+v", d)
	}
}

// A session whose repository cannot be cloned has failed, in git's words, and
// soon.
func TestReposThatCannotBeCloned(t *testing.T) {
	f := newFar(t)
	folder := f.gitServer(t, "someone", "secret")
	bareRepo(t, filepath.Join(folder, "one.git"))
	if err := os.Mkdir(filepath.Join(folder, "private"), 0o755); err != nil {
		t.Fatal(err)
	}
	bareRepo(t, filepath.Join(folder, "private", "two.git"))
	s := startServer(t, "--dns", f.addr)
	for spec, want := range map[string]string{
		"http://far.test/git/none.git":                               "could not clone http://far.test/git/none.git: fatal: repository 'http://far.test/git/none.git/' not found",
		"http://nobody.test/one.git":                                 "Could not resolve host: nobody.test",
		"{url: http://far.test/git/one.git, branch: no-such-branch}": "Remote branch no-such-branch not found in upstream origin",
		"http://far.test/git/private/two.git":                        "could not read Username for 'http://far.test': terminal prompts disabled",
	} {
		began := time.Now()
		id := s.createNoWait("agent: demo\nrepos: [" + quoted(spec) + "]\n").SessionID
		s.waitStatus(id, godo.HostedAgentSessionStatusFailed)
		if why := s.failure(id); !strings.Contains(why, want) || time.Since(began) > 60*time.Second {
			t.Errorf("%s: %q after %v, want %q", spec, why, time.Since(began), want)
		}
	}
}

// A brokered secret for the host of a repository is git's password there, for the
// clone and for what is done later; the sandbox holds only what stands for it.
func TestReposWithASecret(t *testing.T) {
	f := newFar(t)
	const password = "correct-horse-battery"
	folder := f.gitServer(t, "x-access-token", password)
	if err := os.Mkdir(filepath.Join(folder, "private"), 0o755); err != nil {
		t.Fatal(err)
	}
	bareRepo(t, filepath.Join(folder, "private", "two.git"))
	if out, err := exec.Command("git", "-C", filepath.Join(folder, "private", "two.git"), "config", "http.receivepack", "true").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	s := startServer(t, "--dns", f.addr)
	id := s.create("agent: none\negress: []\nrepos: [\"http://far.test/git/private/two.git\"]\nsecrets: {GIT_TOKEN: {value: " + password + ", host: far.test}}\n").SessionID
	got := s.sh(id, "cd two && git -c user.email=a@b -c user.name=a commit -q --allow-empty -m pushed && git push -q origin HEAD:pushed && git ls-remote --heads origin | wc -l; env; cat .git/config")
	if !strings.HasPrefix(got, "3\n") || strings.Contains(got, password) {
		t.Errorf("inside: %s", got)
	}
}

// A server that dies while it clones leaves the session to the next one, which
// clones it whole.
func TestServerDiesWhileItClones(t *testing.T) {
	f := newFar(t)
	folder := f.gitServer(t, "", "")
	bareRepo(t, filepath.Join(folder, "one.git"))
	served, asked, dead := f.git, make(chan struct{}, 100), make(chan struct{})
	f.git = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-dead
		served.ServeHTTP(w, r)
	})
	s := startServer(t, "--dns", f.addr)
	id := s.createNoWait("agent: demo\nrepos: [\"http://far.test/git/one.git\"]\n").SessionID
	<-asked
	if _, _, err := s.client().HostedAgents.SendInput(context.Background(), id, &godo.HostedAgentSendInputRequest{Text: "hello"}); err == nil {
		t.Error("input was taken before the clone was there")
	}
	s.kill()
	close(dead)
	s.start()
	s.waitStatus(id, godo.HostedAgentSessionStatusReady)
	if got := s.sh(id, "git -C one status --short --branch; ls one"); got != "## main...origin/main\nbinary\nfile\nold\n" {
		t.Errorf("cloned: %q", got)
	}
	cloned := 0
	for _, e := range s.history(id) {
		cloned += strings.Count(string(e.Payload), "cloned http://far.test/git/one.git")
	}
	if cloned != 1 {
		t.Errorf("it was cloned %d times", cloned)
	}
}

// quoted makes an address one entry of a list in YAML.
func quoted(spec string) string {
	if strings.HasPrefix(spec, "{") {
		return spec
	}
	return `"` + spec + `"`
}

// failure is what the history says last of the session itself.
func (s *server) failure(id string) (why string) {
	for _, e := range s.history(id) {
		if e.Kind == "session.updated" {
			why = string(e.Payload)
		}
	}
	return why
}
