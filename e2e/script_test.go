package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCommandScripts plays the scripts of testdata/script against one real
// server: what each command does, how it refuses, and its exit code.
func TestCommandScripts(t *testing.T) {
	s := startServer(t)
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "paddock")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": func(ts *testscript.TestScript, _ bool, args []string) {
			var exit *exec.ExitError
			if err := ts.Exec(args[1], args[2:]...); !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
				ts.Fatalf("%v, want exit code %s", err, args[0])
			}
		}},
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			env.Setenv("PADDOCK_URL", "http://"+s.addr)
			env.Setenv("PADDOCK_TOKEN", token)
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
	})
}

// TestEventsFollowOverRestart: the command line follows a history over a server
// that is killed, and shows each event once.
func TestEventsFollowOverRestart(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.create("agent: demo\nname: followed\npermissions:\n  default: allow\n")
	follow := exec.Command(program, "events", "followed", "--follow", "--replay", "-o", "json")
	follow.Env = append(os.Environ(), "PADDOCK_URL=http://"+s.addr, "PADDOCK_TOKEN="+token)
	out, errs := &logBuffer{}, &logBuffer{}
	follow.Stdout, follow.Stderr = out, errs
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- follow.Wait() }()
	t.Cleanup(func() { _ = follow.Process.Kill() })

	if o, e, code := s.cli("prompt", "followed", "before"); code != 0 {
		t.Fatalf("%d %s%s", code, o, e)
	}
	eventually(t, "the first turn is shown", func() bool { return strings.Contains(out.String(), "run.completed") })
	s.kill()
	eventually(t, "it tells that the connection broke", func() bool { return strings.Contains(errs.String(), "trying again") })
	s.restart()
	if o, e, code := s.cli("prompt", "followed", "after"); code != 0 {
		t.Fatalf("%d %s%s", code, o, e)
	}
	if o, e, code := s.cli("remove", "followed"); code != 0 {
		t.Fatalf("%d %s%s", code, o, e)
	}
	if err := <-ended; err != nil { // the history ends with the session
		t.Errorf("follow ended with %v\n%s", err, errs)
	}
	seq, last := int64(0), ""
	for _, line := range bytes.Split(bytes.TrimSpace([]byte(out.String())), []byte("\n")) {
		var e struct {
			Seq  int64
			Data struct{ Status string }
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if seq++; e.Seq != seq {
			t.Fatalf("event %d came where %d was due", e.Seq, seq)
		}
		last = e.Data.Status
	}
	if !strings.Contains(last, "DESTROYED") {
		t.Errorf("the last of %d events says %q", seq, last)
	}
}

// TestDoctor examines this host beside a running server, and leaves nothing.
func TestDoctor(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cmd := exec.Command(program, "doctor", "-o", "json", "--data-dir", s.dir, "--listen", s.addr, "--url", "http://"+s.addr)
	cmd.Env = append(os.Environ(), "PADDOCK_TOKEN=", "TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	var got struct {
		OK     bool
		Checks []struct{ Name, Status, Detail, Fix string }
	}
	if err := errors.Join(err, json.Unmarshal(out, &got)); err != nil || !got.OK {
		t.Fatalf("%v\n%s", err, out)
	}
	said := map[string]string{}
	for _, c := range got.Checks {
		said[c.Name] = c.Status + ": " + c.Detail
	}
	for name, want := range map[string]string{
		"data folder": "is used by the server with pid " + strconv.Itoa(s.cmd.Process.Pid), "port": "is the server's", "server": " at http://" + s.addr,
		"sandbox": "isolated by gvisor", "command": "ok: runs", "pause": "ok: ", "resume": "ok: ", "removal": "ok: ", "no trace": "ok: ",
	} {
		if !strings.Contains(said[name], want) {
			t.Errorf("%s: %q, want %q", name, said[name], want)
		}
	}
}
