package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// call makes an API call that the public client has no method for.
func (s *server) call(method, path string, body any, wantStatus int, into any) http.Header {
	s.t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, "http://"+s.addr+"/v2/harness-runtime"+path, in)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != wantStatus {
		s.t.Fatalf("%s %s: %d, want %d: %s (%v)", method, path, resp.StatusCode, wantStatus, b, err)
	}
	switch v := into.(type) {
	case nil:
	case *[]byte:
		*v = b
	default:
		if err := json.Unmarshal(b, into); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, b)
		}
	}
	return resp.Header
}

// exec runs a program in the session's machine through the public client.
func (s *server) exec(id string, argv ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	out, _, err := s.client().HostedAgents.ExecInSandbox(context.Background(), id, &godo.HostedAgentSandboxExecRequest{Argv: argv})
	if err != nil {
		s.t.Fatalf("exec %q: %v", argv, err)
	}
	return out.ExitCode, out.Stdout, out.Stderr
}

// sh runs a shell line in the session's machine, which has to succeed.
func (s *server) sh(id, line string) string {
	s.t.Helper()
	code, out, errs := s.exec(id, "sh", "-c", line)
	if code != 0 {
		s.t.Fatalf("sh -c %q: %d %s%s", line, code, out, errs)
	}
	return out
}

// waitExec repeats a shell line until it prints want.
func (s *server) waitExec(id, line, want string) {
	s.t.Helper()
	got := ""
	s.t.Cleanup(func() {
		if s.t.Failed() && got != want {
			s.t.Logf("%s printed %q last", line, got)
		}
	})
	eventually(s.t, line+" prints "+want, func() bool {
		_, got, _ = s.exec(id, "sh", "-c", line)
		return got == want
	})
}

// waitProcesses waits until n processes in the machine have exactly this command
// line.
func (s *server) waitProcesses(id, cmdline, n string) {
	s.t.Helper()
	s.waitExec(id, `for f in /proc/[0-9]*/cmdline; do [ "$(tr '\0' ' ' < $f)" = '`+cmdline+` ' ] && echo x; done 2>/dev/null | wc -l`, n+"\n")
}

type execResult struct {
	ExitCode     int `json:"exit_code"`
	Stdout       string
	Stderr       string
	DurationMS   int64  `json:"duration_ms"`
	TimedOut     bool   `json:"timed_out"`
	Detached     bool   `json:"detached"`
	StdoutBase64 []byte `json:"stdout_base64"`
}

func (s *server) execWith(id string, body map[string]any) (execResult, http.Header) {
	s.t.Helper()
	var out execResult
	h := s.call(http.MethodPost, "/sessions/"+id+"/sandbox/exec", body, http.StatusOK, &out)
	return out, h
}

func TestExec(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: none\nenv: {COLOUR: blue}\n").SessionID
	for name, c := range map[string]struct {
		line, out string
		code      int
	}{
		"folder":      {"pwd", "/workspace\n", 0},
		"user":        {"id -un; id -u; id -Gn", "agent\n1000\nagent\n", 0},
		"environment": {"echo $COLOUR $HOME $USER", "blue /home/agent agent\n", 0},
		"code":        {"exit 42", "", 42},
		"signal":      {"kill -9 $$", "", 128 + 9},
		"no privilege": {"grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status | tr -d '\t ' | tr '\n' ' '",
			"CapPrm:0000000000000000 CapEff:0000000000000000 CapBnd:0000000000000000 NoNewPrivs:1 ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := s.exec(id, "sh", "-c", c.line)
			if code != c.code || out != c.out {
				t.Errorf("%d %q %q, want %d %q", code, out, errs, c.code, c.out)
			}
		})
	}
	s.sh(id, "cd /tmp; echo x > here") // a folder change does not carry over
	if out := s.sh(id, "pwd"); out != "/workspace\n" {
		t.Errorf("pwd after cd: %q", out)
	}

	t.Run("root on request", func(t *testing.T) {
		if r, _ := s.execWith(id, map[string]any{"argv": []string{"id", "-u"}, "user": "root"}); r.Stdout != "0\n" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("stdin", func(t *testing.T) {
		if r, _ := s.execWith(id, map[string]any{"argv": []string{"wc", "-c"}, "stdin": []byte("12345")}); strings.TrimSpace(r.Stdout) != "5" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("time-out", func(t *testing.T) {
		r, _ := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", "sleep 4321 & sleep 4322"}, "timeout_seconds": 1})
		if !r.TimedOut || r.ExitCode < 128 {
			t.Errorf("%+v", r)
		}
		s.waitProcesses(id, "sleep 4321", "0")
		s.waitProcesses(id, "sleep 4322", "0")
	})
	t.Run("background child holds the pipe", func(t *testing.T) {
		began := time.Now()
		r, _ := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", "sleep 5432 & echo started"}})
		if !r.Detached || r.Stdout != "started\n" || r.ExitCode != 0 || time.Since(began) > 10*time.Second {
			t.Errorf("%+v after %s", r, time.Since(began))
		}
		s.waitProcesses(id, "sleep 5432", "1")
	})
	t.Run("much output", func(t *testing.T) {
		r, h := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2"}})
		if len(r.Stdout) != 1<<20 || r.Stderr != "end\n" || h.Get("X-Exec-Stdout-Truncated") != "true" || h.Get("X-Exec-Stderr-Truncated") != "" {
			t.Errorf("%d bytes, stderr %q, headers %v", len(r.Stdout), r.Stderr, h)
		}
	})
	t.Run("bytes that are not text", func(t *testing.T) {
		r, _ := s.execWith(id, map[string]any{"argv": []string{"printf", `\377\376ok`}})
		if string(r.StdoutBase64) != "\xff\xfeok" || !strings.HasSuffix(r.Stdout, "ok") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("no such program", func(t *testing.T) {
		_, _, err := s.client().HostedAgents.ExecInSandbox(context.Background(), id, &godo.HostedAgentSandboxExecRequest{Argv: []string{"no-such-program"}})
		wantRefusal(t, err, http.StatusBadRequest, "no-such-program")
	})
	t.Run("zombies are reaped", func(t *testing.T) {
		s.sh(id, "for i in 1 2 3 4 5; do (sleep 0.01 &) ; done")
		s.waitExec(id, "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l", "0\n")
	})
}

func TestFiles(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: none\n").SessionID
	s.sh(id, "mkdir -p a/b; printf 'hello\\377' > a/b/f.bin; ln -s /etc/passwd out; ln -s a/b in; mkfifo pipe; ln -s .. a/up")
	var list struct {
		Files []struct{ Name, Path, Type, Target string }
	}
	s.call(http.MethodGet, "/sessions/"+id+"/files", nil, http.StatusOK, &list)
	var names []string
	for _, f := range list.Files {
		names = append(names, f.Name+":"+f.Type)
	}
	if got := strings.Join(names, " "); got != "a:dir in:symlink out:symlink pipe:other" {
		t.Errorf("files are %s", got)
	}
	for path, want := range map[string]int{
		"a/b/f.bin": 200, "/workspace/a/b/f.bin": 200, "in/f.bin": 200, "a/up/a/b/f.bin": 200,
		"out": 403, "/etc/passwd": 403, "../etc/passwd": 403, "a/up/../../etc/passwd": 403, "missing": 404, "a": 400, "pipe": 400,
	} {
		var b []byte
		s.call(http.MethodGet, "/sessions/"+id+"/files/content?path="+path, nil, want, &b)
		if want == 200 && string(b) != "hello\xff" {
			t.Errorf("%s is %q", path, b)
		}
	}
}
