package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/e2e/host"
)

const units = "../packaging/systemd/"

// unitValues gives the values of a key in a unit file.
func unitValues(t *testing.T, file, key string) []string {
	t.Helper()
	text, err := os.ReadFile(units + file)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, key+"="); ok {
			values = append(values, strings.TrimSpace(value))
		}
	}
	if len(values) == 0 {
		t.Fatalf("%s has no %s", file, key)
	}
	return values
}

// asTheUnit gives the command that starts a program with what the unit changes
// of a process: capabilities, privileges, umask, the memory killer's favour.
func asTheUnit(t *testing.T) []string {
	t.Helper()
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("there is no setpriv here to start a server as the unit does")
	}
	var without []string
	for _, name := range strings.Fields(strings.TrimPrefix(unitValues(t, "paddock.service", "CapabilityBoundingSet")[0], "~")) {
		without = append(without, "-"+strings.ToLower(strings.TrimPrefix(name, "CAP_")))
	}
	script := fmt.Sprintf(`umask %s; echo %s > /proc/self/oom_score_adj; exec setpriv --no-new-privs --bounding-set=%s "$@"`,
		unitValues(t, "paddock.service", "UMask")[0], unitValues(t, "paddock.service", "OOMScoreAdjust")[0], strings.Join(without, ","))
	return []string{"sh", "-c", script, "sh"}
}

// A server that is started, stopped and started as its unit has it: it says when
// it serves and when it stops, ends in time with calls in flight, leaves its
// sandboxes, which have none of its protection, and takes them up again.
func TestServerAsAService(t *testing.T) {
	s := newServer(t)
	s.under = asTheUnit(t)
	notify := filepath.Join(t.TempDir(), "notify")
	heard, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: notify})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	hears := func(want string) {
		t.Helper()
		buffer := make([]byte, 4096)
		_ = heard.SetReadDeadline(time.Now().Add(patience))
		n, err := heard.Read(buffer)
		if err != nil || !slices.Contains(strings.Split(string(buffer[:n]), "\n"), want) {
			t.Fatalf("heard %q, %v, want %s", buffer[:n], err, want)
		}
	}
	s.env = []string{"NOTIFY_SOCKET=" + notify}
	s.start()
	hears("READY=1")
	sess := s.create("agent: demo\n") // at once: what says that it is ready is
	id := sess.SessionID
	s.turn(id, "hello")
	pid := s.busy(id)
	for _, p := range machineTree(sess.SandboxID) {
		score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", p))
		if err == nil && strings.TrimSpace(string(score)) == unitValues(t, "paddock.service", "OOMScoreAdjust")[0] {
			t.Errorf("process %d of the sandbox is protected like the server", p)
		}
	}
	roots := machineRoots(sess.SandboxID)

	streamEnded := make(chan struct{})
	go func() {
		defer close(streamEnded)
		_, _ = s.follow(context.Background(), id, s.history(id)[0].EventID, 1000)
	}()
	go s.poke("POST", "/sessions/"+id+"/sandbox/exec", `{"argv":["sh","-c","touch begun; sleep 60"]}`)
	s.waitExec(id, "test -e begun && echo yes", "yes\n")
	s.stop() // has 10 s
	hears("STOPPING=1")
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the stopped server exits with %d", code)
	}
	s.env = []string{"NOTIFY_SOCKET=" + notify}
	s.start()
	hears("READY=1")
	<-streamEnded // its client tried again, or gave up
	if got := machineRoots(sess.SandboxID); !slices.Equal(got, roots) {
		t.Errorf("kernel and gofer were %v, are %v", roots, got)
	}
	s.sh(id, "kill -0 "+pid)
	var line map[string]any
	for text := range strings.Lines(s.log.String()) {
		if strings.Contains(text, `"msg":"serving"`) {
			_ = json.Unmarshal([]byte(text), &line)
		}
	}
	if line["adopted"] != 1.0 || line["data_dir"] != s.dir || line["isolation"] != "gvisor" || line["version"] == "" || line["limits"] == "" {
		t.Errorf("the log says of the start: %v", line)
	}
}

// What a restart does not cure makes the server exit with the code at which its
// unit is not started again, and nothing is touched.
func TestServerRefusesNewerHandles(t *testing.T) {
	s := startServer(t)
	sess := s.create("agent: demo\n")
	s.stop()
	file := filepath.Join(s.dir, "sandboxes", sess.SandboxID, "handle.json")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(old), `"version":1`, `"version":99`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	before := machineRoots(sess.SandboxID)
	said := len(s.log.String())
	s.start()
	<-s.done
	code := fmt.Sprint(s.cmd.ProcessState.ExitCode())
	if !slices.Contains(strings.Fields(unitValues(t, "paddock.service", "RestartPreventExitStatus")[0]), code) {
		t.Errorf("it exits with %s", code)
	}
	if text := s.log.String()[said:]; !strings.Contains(text, "version 99") || !strings.Contains(text, "start the newer version") {
		t.Errorf("it says %s", text)
	}
	if after := machineRoots(sess.SandboxID); len(before) != 2 || !slices.Equal(before, after) {
		t.Errorf("kernel and gofer were %v, are %v", before, after)
	}
	if err := os.WriteFile(file, old, 0o600); err != nil {
		t.Fatal(err)
	}
	s.restart()
	if got := s.turn(sess.SessionID, "hello"); !strings.HasPrefix(got, "turn 1: ") {
		t.Errorf("the turn after: %q", got)
	}
	if len(host.Processes(sess.SandboxID)) == 0 {
		t.Error("the sandbox is gone")
	}
}

// systemd takes the units without complaint.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd here to verify the units with")
	}
	dir := t.TempDir()
	args := []string{"verify", "--man=no"}
	files, _ := filepath.Glob(units + "*")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		here := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(here, []byte(strings.ReplaceAll(string(text), "/usr/bin/paddock", program)), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, here)
	}
	if out, err := exec.Command("systemd-analyze", args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}
