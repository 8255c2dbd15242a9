package proc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// launchWord as the first argument makes this test binary a launcher.
const launchWord = "launch"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == launchWord {
		fmt.Fprintln(os.Stderr, Launch(os.Args[2:]))
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == giveUpWord {
		giveUp()
		return
	}
	// Orphans come to us, as they come to pid 1 in a sandbox.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const testGroup = 61999

var testTree = &Tree{Group: testGroup}

type shell struct {
	*Process
	out *os.File // read end of its stdout
}

// start runs a shell script; it and its tree end with the test.
func start(t *testing.T, table *Table, groups []uint32, script string) shell {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	user := User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Groups: groups}
	p, err := table.Start(Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: "/", User: user,
		Env: []string{"PATH=" + DefaultPath}, Files: [3]*os.File{null, w, w}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.KillGroup()
		<-p.Done()
		r.Close()
	})
	return shell{p, r}
}

// line reads the script's next line.
func (s shell) line(t *testing.T) string {
	t.Helper()
	var b []byte
	for c := make([]byte, 1); ; {
		if _, err := s.out.Read(c); err != nil {
			t.Fatalf("read the script's output: %v", err)
		}
		if c[0] == '\n' {
			return string(b)
		}
		b = append(b, c[0])
	}
}

func newTable(t *testing.T) *Table {
	t.Helper()
	table := NewTable()
	t.Cleanup(table.Close)
	return table
}

func TestExit(t *testing.T) {
	table := newTable(t)
	for script, want := range map[string]struct {
		code int
		text string
	}{
		"exit 0":        {0, "exited with code 0"},
		"exit 3":        {3, "exited with code 3"},
		"kill -TERM $$": {143, "was killed by signal 15 (terminated)"},
		"kill -9 $$":    {137, "was killed by signal 9 (killed)"},
	} {
		p := start(t, table, nil, script)
		<-p.Done()
		if e := p.Exit(); e.Code() != want.code || e.String() != want.text {
			t.Errorf("%s: %d, %s", script, e.Code(), e)
		}
	}
}

func TestEveryStatusReachesItsProcess(t *testing.T) {
	table := newTable(t)
	var wg sync.WaitGroup
	for i := range 40 {
		p := start(t, table, nil, "exit "+string(rune('0'+i%10)))
		wg.Go(func() {
			<-p.Done()
			if p.Exit().Code() != i%10 {
				t.Errorf("process %d: %s", i, p.Exit())
			}
		})
	}
	wg.Wait()
}

func TestOrphansAreReaped(t *testing.T) {
	table := newTable(t)
	p := start(t, table, nil, "( (sleep 0.01; exit 7) & ); echo $$")
	p.line(t)
	<-p.Done()
	var out bytes.Buffer
	for deadline := time.Now().Add(10 * time.Second); ; {
		children, err := os.ReadFile("/proc/self/task/" + filepath.Base(mainThread(t)) + "/children")
		if err == nil && len(bytes.TrimSpace(children)) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("children left: %s %s", children, out.String())
		}
		<-time.After(time.Millisecond)
	}
}

// mainThread is the thread that orphans are listed under: the main one.
func mainThread(t *testing.T) string {
	t.Helper()
	path, err := os.Readlink("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartErrors(t *testing.T) {
	table := newTable(t)
	_, err := table.Start(Spec{Path: "/nonexistent", Argv: []string{"x"}, Dir: "/", User: User{UID: uint32(os.Getuid())},
		Files: [3]*os.File{os.Stdin, os.Stdin, os.Stdin}})
	if !os.IsNotExist(err) {
		t.Errorf("start: %v", err)
	}
}

func TestLimited(t *testing.T) {
	table := newTable(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	user := User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	spec := Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", "ulimit -u; echo $0 $1", "a b", "c"}, Dir: "/", User: user, Files: [3]*os.File{r, w, w}}
	p, err := table.Start(spec.Limited([]string{self, launchWord}, 4321))
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	<-p.Done()
	// Not every sh knows -u.
	if s := string(out); err != nil || !strings.HasSuffix(s, "a b c\n") || !strings.HasPrefix(s, "4321\n") && !strings.Contains(s, "llegal") {
		t.Errorf("%q %v %s", s, err, p.Exit())
	}
}

// A process of root, and what it starts, get the limit they are given.
func TestTasksOfRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root's processes are limited")
	}
	table := NewTable()
	defer table.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	script := `until grep -q '^Max processes  *77  *77 ' /proc/self/limits; do :; done; grep -c '^Max processes  *77 ' /proc/self/limits`
	p, err := table.Start(Spec{
		Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: "/", Files: [3]*os.File{r, w, w}, Tasks: 77, User: User{Groups: []uint32{testGroup}},
	})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(r); err != nil || string(out) != "1\n" {
		t.Errorf("%q %v", out, err)
	}
	<-p.Done()
}

func TestKillTree(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may give a process a group")
	}
	table := newTable(t)
	agent := start(t, table, []uint32{testGroup}, `trap 'sleep 2000 & echo works' USR1; sleep 1000 & echo ready; while :; do wait; done`)
	// What an earlier turn left: it goes on starting processes of its own.
	service := start(t, table, []uint32{testGroup}, `trap '(sleep 3000; :) & echo serves' USR1; sleep 1000 & echo ready; while :; do wait; done`)
	stranger := start(t, table, nil, "echo ready; sleep 1000")
	agent.line(t)
	stranger.line(t)
	service.line(t)
	before := Scan(testTree)
	if len(before) < 3 {
		t.Fatalf("scan: %v", before)
	}
	past := Remember(testTree, agent.Pid)
	// The turn: a child that leaves its session, its parent and its environment, and forks on.
	turn := start(t, table, []uint32{testGroup}, `
		setsid env -i /bin/sh -c 'while :; do /bin/sleep 0.01 & done' >/dev/null 2>&1 &
		( ( sleep 1000 & ) & )
		echo ready`)
	turn.line(t)
	<-turn.Done()
	for _, p := range []shell{agent, service} {
		_ = unix.Kill(p.Pid, unix.SIGUSR1)
		p.line(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	KillTree(ctx, testTree, past)
	served, left := 0, members(testTree)
	for _, m := range left {
		switch {
		case slices.Contains(before, m.Task):
		case m.parent == service.Pid || left[m.parent].parent == service.Pid:
			served++
		default:
			t.Errorf("task %+v is left", m)
		}
	}
	if served == 0 {
		t.Error("what an earlier turn's process had started is gone")
	}
	for _, p := range []shell{agent, stranger, service} {
		select {
		case <-p.Done():
			t.Error("a spared process ended")
		default:
		}
	}
	KillTree(ctx, testTree, Past{})
	<-agent.Done()
}

func TestDoomed(t *testing.T) {
	const none, kill, term = "0000000000000000", "0000000000000100", "0000000000004000"
	for _, c := range []struct {
		own, shared string
		want        bool
	}{{none, none, false}, {kill, none, true}, {none, kill, true}, {term, term, false}, {"?", "", false}} {
		if got := doomed([]byte("Name:\tx\nSigPnd:\t" + c.own + "\nShdPnd:\t" + c.shared + "\nSigBlk:\t" + kill + "\n")); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestInGroup(t *testing.T) {
	for status, want := range map[string]bool{
		"Name:\tx\nState:\tS (sleeping)\nGroups:\t4 61999 70 \n": true,
		"State:\tS (sleeping)\nGroups:\t4 619990 \n":             false,
		"State:\tZ (zombie)\nGroups:\t61999 \n":                  false,
		"State:\tS (sleeping)\nGroups:\t \n":                     false,
		"":                                                       false,
	} {
		if got := inGroup([]byte(status), "61999"); got != want {
			t.Errorf("%q: %v", status, got)
		}
	}
}

func TestOrigin(t *testing.T) {
	line := "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 9"
	if parent, n, ok := origin([]byte(line)); !ok || n != 12345 || parent != 1 {
		t.Errorf("parent %d, start time %d, %v", parent, n, ok)
	}
	if _, _, ok := origin([]byte("7 (a) S")); ok {
		t.Error("a short line was read")
	}
}

func TestParseUse(t *testing.T) {
	line := "7 (a) b (c) S 1 7 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 3"
	if u, ok := parseUse([]byte(line), 4096); !ok || u.Name != "a) b (c" || u.Session != 42 || u.Start != 12345 || u.Bytes != 3*4096 {
		t.Errorf("%+v, %v", u, ok)
	}
	for _, line := range []string{strings.Replace(line, ") S", ") Z", 1), "7 (a) S 1 7", "", ") ("} {
		if u, ok := parseUse([]byte(line), 4096); ok {
			t.Errorf("%q was read as %+v", line, u)
		}
	}
}

func TestUses(t *testing.T) {
	table := newTable(t)
	p := start(t, table, nil, "echo ready; sleep 1000")
	p.line(t)
	all := Uses(testTree)
	i := slices.IndexFunc(all, func(u Use) bool { return u.Pid == p.Pid })
	if i < 0 {
		t.Fatal("a running process is not listed")
	}
	u := all[i]
	if u.Bytes <= 0 || u.Session != p.Pid || u.Member || !u.Alive() {
		t.Errorf("%+v", u)
	}
	table.Blame(p.Pid, "no room")
	p.KillGroup()
	<-p.Done()
	if s := p.Exit().String(); s != "was ended, no room" || p.Exit().Code() != 137 {
		t.Errorf("%q %d", s, p.Exit().Code())
	}
	if u.Alive() {
		t.Error("a reaped process is alive")
	}
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	sh, _ := exec.LookPath("sh")
	for _, c := range []struct{ name, dir, path, want string }{
		{"tool", "/", dir, filepath.Join(dir, "tool")},
		{"./tool", dir, "", filepath.Join(dir, "tool")},
		{"tool", dir, ":/bin", filepath.Join(dir, "tool")},
		{"text", "/", dir, ""},
		{"sh", "/", strings.TrimSuffix(sh, "/sh"), sh},
		{"..", "/", dir, ""},
		{"", "/", dir, ""},
	} {
		if got := LookPath(c.name, c.dir, c.path); got != c.want {
			t.Errorf("%q in %q: %q", c.name, c.path, got)
		}
	}
}
