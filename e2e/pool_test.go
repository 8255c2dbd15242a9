package e2e

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// sandboxes are the ids of the sandboxes that have a process on this host.
func (s *server) sandboxes() []string {
	var ids []string
	entries, _ := os.ReadDir(filepath.Join(s.dir, "sandboxes"))
	for _, e := range entries {
		if e.IsDir() && len(host.Processes(e.Name())) > 0 {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// waitSpares waits until there are n sandboxes beside those of sessions, each with
// a guest that waits: they are logged when they are ready.
func (s *server) waitSpares(n int, sessions ...string) []string {
	s.t.Helper()
	ready := func(id string) bool {
		return slices.ContainsFunc(strings.Split(s.log.String(), "\n"), func(line string) bool {
			return strings.Contains(line, "spare sandbox ready") && strings.Contains(line, id)
		})
	}
	var spares []string
	eventually(s.t, strconv.Itoa(n)+" spare sandboxes", func() bool {
		spares = slices.DeleteFunc(s.sandboxes(), func(id string) bool {
			return slices.Contains(sessions, id) || !ready(id)
		})
		return len(spares) == n
	})
	return spares
}

func TestPool(t *testing.T) {
	s := startServer(t, "--pool", "2")
	spares := s.waitSpares(2)
	c, ctx := s.client(), context.Background()
	list, _, err := c.HostedAgents.ListSessions(ctx, &godo.HostedAgentSessionListOptions{Status: "SESSION_STATUS_ALL"})
	if err != nil || len(list.Sessions) != 0 {
		t.Errorf("a server that only has spares lists %v, %v", list, err)
	}

	one, two := s.create("agent: demo\nname: First.One\npermissions: {default: allow}\n"), s.create("agent: demo\nname: second\n")
	for _, sess := range []*godo.HostedAgentSession{one, two} {
		if !slices.Contains(spares, sess.SandboxID) {
			t.Errorf("session %s has sandbox %s, which is none of the spares %v", sess.Name, sess.SandboxID, spares)
		}
	}
	s.assertIdentity(one.SessionID, "first-one")
	s.assertIdentity(two.SessionID, "second")
	if a, b := s.sh(one.SessionID, "cat /etc/machine-id"), s.sh(two.SessionID, "cat /etc/machine-id"); a == b {
		t.Errorf("two sessions have machine-id %s", a)
	}
	s.assertCapabilities(one.SessionID)
	if got := s.turn(one.SessionID, "hello"); !strings.HasPrefix(got, "turn 2: ") {
		t.Errorf("the agent said %q", got)
	}
	assertLog(t, s.history(one.SessionID))

	// A killed server's spares are removed by the next one, which has its own.
	own := []string{one.SandboxID, two.SandboxID}
	old := s.waitSpares(2, own...)
	s.kill()
	s.restart()
	for _, id := range old {
		s.waitGone(id)
	}
	s.assertIdentity(one.SessionID, "first-one")
	s.waitSpares(2, own...)

	// A stopped server's end with it.
	s.stop()
	if left := s.sandboxes(); !sameSet(left, own) {
		t.Errorf("after the server's end there are sandboxes %v, the sessions have %v", left, own)
	}
	s.restart()
	s.assertIdentity(two.SessionID, "second")
}

// TestSparesOfAnImage: once an image was asked for, a spare of it is kept, and the
// next session of it gets that: with the image's files and no others.
func TestSparesOfAnImage(t *testing.T) {
	s := startServer(t, "--pool", "2")
	s.waitSpares(2)
	s.add(writeFile(t, "root.tar", rootTar(t, buildTool(t), "hello")), "tar")
	first := s.create("agent: demo\ntemplate: tar\n")
	digest := s.images()[0]
	var spare string
	eventually(t, "a spare of the image", func() bool {
		for line := range strings.SplitSeq(s.log.String(), "\n") {
			if strings.Contains(line, "spare sandbox ready") && strings.Contains(line, digest) {
				_, rest, _ := strings.Cut(line, `"sandbox_id":"`)
				spare, _, _ = strings.Cut(rest, `"`)
			}
		}
		return spare != ""
	})
	second := s.create("agent: demo\ntemplate: tar\n")
	if second.SandboxID != spare || first.SandboxID == spare {
		t.Errorf("sessions of the image have the sandboxes %s and %s, and its spare was %s", first.SandboxID, second.SandboxID, spare)
	}
	if got := s.says(second.SessionID, "/bin/tool", "cat", "/etc/motd"); got != "hello" {
		t.Errorf("the file of the image reads %q", got)
	}
	if got := s.turn(second.SessionID, "hello"); !strings.HasPrefix(got, "turn 1: ") {
		t.Errorf("the agent said %q", got)
	}
	// One of the host's system gets none of the image.
	if host := s.create("agent: none\n"); s.sh(host.SessionID, "test -e /bin/tool || echo none") != "none\n" {
		t.Error("a session of this machine's system has the image's files")
	}
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// assertIdentity asserts what a session's machine says it is, to the first who
// asks.
func (s *server) assertIdentity(id, hostname string) {
	s.t.Helper()
	if got, want := s.sh(id, "hostname; cat /run/paddock/hostname /run/paddock/session-id"), hostname+"\n"+hostname+"\n"+id+"\n"; got != want {
		s.t.Errorf("the machine says that it is %q, want %q", got, want)
	}
}

var capabilitySet = regexp.MustCompile(`(?m)^Cap(Inh|Prm|Eff|Bnd|Amb):\s+([0-9a-f]{16})$`)

// assertCapabilities asserts that nothing in a claimed machine may do what its
// guest needed to take the machine's name: CAP_SYS_ADMIN is in no set of any
// thread of pid 1, of root's execs and of what the agent runs.
func (s *server) assertCapabilities(id string) {
	s.t.Helper()
	const sysAdmin = 1 << 21
	shAs := func(user, line string) string {
		out, _ := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", line}, "user": user})
		return out.Stdout
	}
	s.turn(id, "run grep ^Cap /proc/self/status > caps.txt")
	for who, text := range map[string]string{
		"pid 1":     shAs("root", "cat /proc/1/task/*/status"),
		"root":      shAs("root", "cat /proc/self/status"),
		"the agent": s.sh(id, "cat caps.txt"),
		"an exec":   s.sh(id, "cat /proc/self/status"),
	} {
		sets := capabilitySet.FindAllStringSubmatch(text, -1)
		if len(sets) < 4 {
			s.t.Errorf("%s has no capability sets:\n%s", who, text)
		}
		for _, set := range sets {
			if bits, err := strconv.ParseUint(set[2], 16, 64); err != nil || bits&sysAdmin != 0 {
				s.t.Errorf("%s holds CAP_SYS_ADMIN: %s", who, set[0])
			}
			if (who == "the agent" || who == "an exec") && set[1] != "Bnd" && strings.Trim(set[2], "0") != "" {
				s.t.Errorf("the agent holds %s", set[0])
			}
		}
	}
	if out := shAs("root", "hostname other 2>&1; hostname"); strings.HasSuffix(out, "other\n") {
		s.t.Errorf("root renamed the machine: %s", out)
	}
}

func TestAdmission(t *testing.T) {
	for lacking, flag := range map[string]string{"memory": "--memory-reserve", "disk": "--disk-reserve"} {
		t.Run(lacking, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, flag, "1000000000")
			_, resp, err := s.client().HostedAgents.CreateSessionFromManifest(context.Background(), []byte("agent: demo\n"), nil)
			var refused *godo.ErrorResponse
			if !errors.As(err, &refused) || resp.StatusCode != http.StatusServiceUnavailable {
				t.Fatalf("create on a full host: %v", err)
			}
			if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || after < 1 {
				t.Errorf("Retry-After is %q", resp.Header.Get("Retry-After"))
			}
			if !regexp.MustCompile(`^this host has \d+ MiB of ` + lacking + ` free .* then try again$`).MatchString(refused.Message) {
				t.Errorf("it says %q", refused.Message)
			}
			list, _, err := s.client().HostedAgents.ListSessions(context.Background(), &godo.HostedAgentSessionListOptions{Status: "SESSION_STATUS_ALL"})
			if err != nil || len(list.Sessions) != 0 {
				t.Errorf("the refused create left %v, %v", list.Sessions, err)
			}
		})
	}
}
