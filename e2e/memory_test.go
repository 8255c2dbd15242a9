package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// eat gives a Python program that fills memory in one way, and then ends.
func eat(how string) string {
	return `import mmap, os, time
block = b"x" * (1 << 20)
def fill(mib):
    m = mmap.mmap(-1, mib << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(mib): m[i << 20:(i + 1) << 20] = block
    return m
` + how
}

const (
	oneLarge  = "m = fill(4096)"
	manySmall = `for i in range(80):
    if os.fork() == 0:
        m = fill(16); time.sleep(15); os._exit(0)
time.sleep(15)`
	noMap = `fd = os.memfd_create("m")
for i in range(4096): os.write(fd, block)`
)

// ranOut gives the entries of a session's history that tell of a lack of memory.
func (s *server) ranOut(id, run string) (messages []string) {
	s.t.Helper()
	for _, e := range s.history(id) {
		var log struct {
			Level, Message string
			Fields         struct {
				Reason string
				Used   int64 `json:"used_bytes"`
				Has    int64 `json:"memory_bytes"`
			}
		}
		if e.Kind != godo.HostedAgentEventKindRunLog || json.Unmarshal(e.Payload, &log) != nil || log.Fields.Reason != "out_of_memory" {
			continue
		}
		if strings.Contains(log.Message, "the host's kernel ended") {
			s.t.Logf("the guest was late: %s", log.Message) // the host is busy
			continue
		}
		if log.Level != "error" || log.Fields.Used == 0 || log.Fields.Has != 1<<30 {
			s.t.Errorf("an entry that does not say enough: %s", e.Payload)
		}
		if e.RunID == run {
			messages = append(messages, log.Message)
		}
	}
	return messages
}

// Whoever allocates without end is ended, whichever way he does it; the machine,
// the agent and everybody else's execs live on, and the history says what
// happened.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	sess := s.create("agent: demo\nsize: small\npermissions: {default: allow}\n")
	id := sess.SessionID
	s.turn(id, "hello")
	s.sh(id, "nohup sleep 6001 > /dev/null 2>&1 &")
	for name, how := range map[string]string{"one process": oneLarge, "many small ones": manySmall, "memory that is not mapped": noMap} {
		t.Run(name, func(t *testing.T) {
			s.sh(id, "cat > eat.py <<'END'\n"+eat(how)+"\nEND")
			run := s.send(id, "run python3 eat.py; echo over")
			eventually(t, "a process was ended for memory", func() bool {
				began := time.Now()
				s.sh(id, "true")
				if took := time.Since(began); took > hardRoom {
					t.Errorf("an exec took %s", took)
				}
				return len(s.ranOut(id, run)) > 0
			})
			if said := s.ranOut(id, run)[0]; !strings.Contains(said, "out of memory (the machine has 1024 MiB)") || !strings.Contains(said, "python3") {
				t.Errorf("the history says %q", said)
			}
			if end := s.waitRun(id, run); end.Kind != godo.HostedAgentEventKindRunCompleted {
				t.Errorf("the run ended as %s %s", end.Kind, end.Payload)
			}
		})
	}
	s.waitProcesses(id, "sleep 6001", "1")
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 5: ") {
		t.Errorf("the agent said %q", got)
	}
	if n := host.OOMKills(sess.SandboxID); n != 0 {
		t.Logf("the host's kernel ended %d processes", n)
	}
}

// An exec that allocates without end is ended; the agent does not notice.
func TestOutOfMemoryByAnExec(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: demo\nsize: small\n").SessionID
	s.turn(id, "hello")
	for _, user := range []string{"agent", "root"} {
		r, _ := s.execWith(id, map[string]any{"argv": []string{"python3", "-c", eat(oneLarge)}, "user": user, "timeout_seconds": 120})
		if r.ExitCode != 137 || r.TimedOut {
			t.Errorf("%s: %+v", user, r)
		}
	}
	if said := s.ranOut(id, ""); len(said) < 1 || !strings.Contains(said[0], "of an exec was ended") {
		t.Errorf("the history says %q", said)
	}
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 2: ") {
		t.Errorf("the agent said %q", got)
	}
}

// An agent that itself allocates without end fails its run, which says why.
func TestAgentOutOfMemory(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := `
import json, sys
for line in sys.stdin:
    f = json.loads(line)
    answer = {"initialize": {"protocolVersion": 1, "agentCapabilities": {}}, "session/new": {"sessionId": "s"}}.get(f.get("method"))
    if f.get("method") == "session/prompt": m = fill(4096)
    print(json.dumps({"jsonrpc": "2.0", "id": f["id"], "result": answer}), flush=True)
`
	command, err := json.Marshal([]string{"python3", "-c", eat(agent)})
	if err != nil {
		t.Fatal(err)
	}
	id := s.create("agent: custom\nsize: small\ncommand: " + string(command) + "\n").SessionID
	run := s.send(id, "eat")
	end := s.waitRun(id, run)
	var failed struct {
		Code    int
		Message string
	}
	if err := json.Unmarshal(end.Payload, &failed); err != nil {
		t.Fatal(err)
	}
	if end.Kind != godo.HostedAgentEventKindRunFailed || failed.Code != 7 || !strings.Contains(failed.Message, "out of memory") {
		t.Errorf("the run ended as %s %s", end.Kind, end.Payload)
	}
	if said := s.ranOut(id, run); len(said) != 1 || !strings.Contains(said[0], "the agent, python3") {
		t.Errorf("the history says %q", said)
	}
	s.sh(id, "true")
}
