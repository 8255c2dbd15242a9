package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"paddock/client"
)

// step is one thing that must go right; do returns the fact that shows it.
type step struct {
	title string
	do    func(context.Context) (fact string, err error)
}

func (d *show) steps() []step {
	steps := []step{
		{"a server starts", d.startServer},
		{"a session is created", d.create},
		{"the agent writes a file in its first turn", d.firstTurn},
		{"it remembers the conversation in its second", d.secondTurn},
		{"a command in the machine reads the file", d.readFile},
		{"a process runs on in the background", d.background},
		{"a pause uses no CPU", d.freeze},
		{"input wakes the session", d.wake},
		{"the same process goes on, with its memory", d.sameProcess},
		{"a server killed in mid-turn costs nothing", d.crash},
		{"removal leaves nothing of the sandbox", d.remove},
	}
	if d.real.keys != nil {
		steps = append(steps, step{"a real agent takes a turn", d.realTurn})
	}
	return append(steps, step{"the server ends and leaves nothing at all", d.end})
}

const spec = "name: " + session + "\nagent: demo\npermissions:\n  default: allow\n"

func (d *show) startServer(ctx context.Context) (string, error) {
	if err := d.server.Start(ctx, d.serves); err != nil {
		return "", err
	}
	return "pid " + strconv.Itoa(d.server.Pid()), nil
}

func (d *show) create(ctx context.Context) (string, error) {
	s, err := d.api.CreateSession(ctx, []byte(spec), client.CreateOptions{})
	if err != nil {
		return "", err
	}
	if s, err = d.await(ctx, s.SessionID, client.SessionReady); err != nil {
		return "", err
	}
	if d.sandbox = s.SandboxID; d.sandbox == "" {
		return "", errors.New("a ready session names no sandbox")
	}
	n, err := d.alive()
	return fmt.Sprintf("%s, %d processes on the host", d.sandbox, n), err
}

// alive counts the sandbox's processes on the host; none is an error.
func (d *show) alive() (int, error) {
	list, err := d.host.Naming(d.sandbox)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no process of %s is on the host", d.sandbox)
	}
	return len(list), err
}

const note = "written by the agent"

func (d *show) firstTurn(ctx context.Context) (string, error) {
	answer, err := d.say(ctx, "write notes.txt "+note)
	return "“" + firstLine(answer) + "”", err
}

func (d *show) secondTurn(ctx context.Context) (string, error) { return d.turn(ctx, 2) }

// turn lets the demo agent say which turn of the conversation this is.
func (d *show) turn(ctx context.Context, k int) (string, error) {
	answer, err := d.say(ctx, "which turn is this?")
	if want := fmt.Sprintf("turn %d: ", k); err == nil && !strings.HasPrefix(answer, want) {
		err = fmt.Errorf("the agent answered %q, which does not begin with %q", answer, want)
	}
	return "“" + firstLine(answer) + "”", err
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > 40 {
		s = string(r[:39]) + "…"
	}
	return s
}

func (d *show) readFile(ctx context.Context) (string, error) {
	got, err := d.exec(ctx, "cat", "/workspace/notes.txt")
	if err == nil && got != note {
		err = fmt.Errorf("the file holds %q, the agent wrote %q", got, note)
	}
	return "“" + got + "”", err
}

// counter counts in its memory as fast as it can and writes the count when
// asked by a signal.
const counter = `n=0; trap 'echo $n > /workspace/count' USR1; while :; do n=$((n+1)); done`

func (d *show) background(ctx context.Context) (string, error) {
	var err error
	if d.pid, err = d.exec(ctx, "sh", "-c", `sh -c "$0" >/dev/null 2>&1 </dev/null & echo $!`, counter); err != nil {
		return "", err
	}
	if d.count, err = d.askCount(ctx); err != nil {
		return "", err
	}
	used, err := d.measure(ctx, time.Second)
	if err == nil && used < 100*time.Millisecond {
		err = fmt.Errorf("a busy process in the sandbox used only %v of CPU in a second", used)
	}
	return fmt.Sprintf("pid %s inside; %d ms of CPU in 1 s on the host", d.pid, used.Milliseconds()), err
}

// askCount lets the counter write down how far it is.
func (d *show) askCount(ctx context.Context) (int64, error) {
	text, err := d.exec(ctx, "sh", "-c",
		`rm -f /workspace/count; kill -USR1 "$0" && until [ -s /workspace/count ]; do sleep 0.02; done; cat /workspace/count`, d.pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// measure gives the CPU time that the sandbox uses on the host in a while.
func (d *show) measure(ctx context.Context, while time.Duration) (time.Duration, error) {
	before, err := d.host.CPU(d.sandbox)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, while); err != nil {
		return 0, err
	}
	after, err := d.host.CPU(d.sandbox)
	return after - before, err
}

func (d *show) freeze(ctx context.Context) (string, error) {
	if pending, err := d.api.Pause(ctx, session); err != nil || pending {
		return "", errors.Join(err, unless(!pending, "the pause waits for a run, but none is active"))
	}
	s, err := d.api.Session(ctx, session)
	if err != nil {
		return "", err
	}
	if s.Status != client.SessionPaused || s.PauseReason != "manual" {
		return "", fmt.Errorf("the session is %s (%s)", s.Status, s.PauseReason)
	}
	n, err := d.alive()
	if err != nil {
		return "", err
	}
	const while, most = 2 * time.Second, 40 * time.Millisecond // 2 % of one CPU
	used, err := d.measure(ctx, while)
	if err == nil && used > most {
		err = fmt.Errorf("the paused sandbox used %v of CPU in %v", used, while)
	}
	return fmt.Sprintf("%d ms of CPU in 2 s, %d processes kept", used.Milliseconds(), n), err
}

func unless(ok bool, text string) error {
	if ok {
		return nil
	}
	return errors.New(text)
}

func (d *show) wake(ctx context.Context) (string, error) {
	fact, err := d.turn(ctx, 3)
	if err != nil {
		return "", err
	}
	s, err := d.api.Session(ctx, session)
	if err == nil && s.Status != client.SessionReady {
		err = fmt.Errorf("the session is %s", s.Status)
	}
	return fact, err
}

func (d *show) sameProcess(ctx context.Context) (string, error) {
	now, err := d.askCount(ctx) // by pid
	if err != nil {
		return "", err
	}
	if now < d.count {
		return "", fmt.Errorf("process %s had counted to %d and is now at %d", d.pid, d.count, now)
	}
	_, err = d.exec(ctx, "kill", d.pid)
	return fmt.Sprintf("pid %s counted on from %d to %d", d.pid, d.count, now), err
}

// slow is a turn of 15 numbers, 200 ms apart.
const slow = 15

func (d *show) crash(ctx context.Context) (string, error) {
	stream, err := d.api.Events(ctx, session, client.EventsOptions{})
	if err != nil {
		return "", fmt.Errorf("open the stream: %w", err)
	}
	defer stream.Close()
	run, err := d.api.Input(ctx, session, fmt.Sprintf("slow %d", slow))
	if err != nil {
		return "", err
	}
	heard, err := listen(stream, run, func(said string) bool { return strings.HasPrefix(said, "1 2 3 ") })
	if err != nil {
		return "", err
	}
	if err := d.server.Kill(); err != nil {
		return "", err
	}
	if _, err := d.alive(); err != nil {
		return "", fmt.Errorf("after the kill: %w", err)
	}
	if err := d.server.Start(ctx, d.serves); err != nil {
		return "", err
	}
	rest, err := listen(stream, run, func(string) bool { return false })
	if err != nil {
		return "", err
	}
	return d.judge(ctx, run, heard, rest)
}

// judge holds what a reader heard, and what was stored, against what the agent
// had to say.
func (d *show) judge(ctx context.Context, run, before, after string) (string, error) {
	var want strings.Builder
	for i := range slow {
		fmt.Fprintf(&want, "%d ", i+1)
	}
	r, err := d.history(ctx, run)
	switch {
	case err != nil:
		return "", err
	case before == want.String():
		return "", errors.New("the turn had ended before the server was killed")
	case before+after != want.String():
		return "", fmt.Errorf("a reader heard %q and then %q", before, after)
	case r.words != want.String():
		return "", fmt.Errorf("the history holds %q", r.words)
	case r.started != 1 || r.completed != 1 || r.failed != 0:
		return "", fmt.Errorf("the history has the run started %d times, completed %d, failed %d", r.started, r.completed, r.failed)
	}
	return fmt.Sprintf("1 to %d, each once; completed once; %d events without a gap", slow, r.events), nil
}

func (d *show) remove(ctx context.Context) (string, error) {
	if err := d.removeAll(ctx); err != nil {
		return "", err
	}
	left, err := d.host.Left(d.sandbox)
	if left != "" {
		err = errors.New(left)
	}
	return "no process, no mount, no control group", err
}

func (d *show) end(ctx context.Context) (string, error) {
	if err := d.server.Stop(ctx); err != nil {
		return "", err
	}
	d.server.Started = false // nothing to clean up through it
	left, err := d.host.Left(d.dir)
	if left != "" {
		err = errors.New(left)
	}
	return "no process, no mount names the folder", err
}
