package sandboxtest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/sandbox"
)

// frozen is how long the suite watches a paused machine do nothing.
const frozen = 300 * time.Millisecond

func identity(t *testing.T, h Harness) {
	d, spec := h.Open(t), h.spec()
	g := Accept(t, h.start(t, d, spec))
	if name, _ := g.Run(1000, "self", "hostname"); name != spec.Hostname+"\n" {
		t.Errorf("hostname %q, want %q", name, spec.Hostname)
	}
	have := g.identity()
	want := []string{fmt.Sprintf("%q", spec.Session+"\n"), fmt.Sprintf("%q", spec.Hostname+"\n")}
	if len(have) != 3 || have[0] != want[0] || have[1] != want[1] || !regexp.MustCompile(`^"[0-9a-f]{32}\\n"$`).MatchString(have[2]) {
		t.Errorf("identity %q, want %q and a machine-id", have, want)
	}
	if other := Accept(t, h.start(t, d, h.spec())).identity(); other[2] == have[2] {
		t.Error("two machines have one machine-id")
	}
	if output, code := g.Run(0, "self", "rename", "impostor"); code == 0 {
		t.Errorf("the guest of a machine with an owner may rename it: %q", output)
	}
	for _, uid := range []uint32{0, 1000} {
		for _, folder := range []string{sandbox.IdentityMount, sandbox.RuntimeMount, sandbox.AgentsMount} {
			if _, code := g.Run(uid, "self", "write", folder+"/x", "x"); code == 0 {
				t.Errorf("uid %d can write to %s", uid, folder)
			}
		}
	}
	for _, path := range []string{"/tmp/x", "/dev/shm/x"} {
		if output, code := g.Run(1000, "self", "write", path, "x"); code != 0 {
			t.Errorf("the agent cannot write %s: %s", path, output)
		}
	}
	if output, _ := g.Run(1000, "self", "stat", "/tmp"); output != "1777 0:0\n" {
		t.Errorf("/tmp is %q, want it open to all and sticky", output)
	}
}

func leastPrivilege(t *testing.T, h Harness) {
	g := Accept(t, h.start(t, h.Open(t), h.spec()))
	control := sandbox.IdentityMount + "/control"
	if output, _ := g.Run(0, "self", "stat", control, control+"/secret"); output != "700 0:0\n600 0:0\n" {
		t.Errorf("control folder and secret are %q, want root's alone", output)
	}
	if output, _ := g.Run(1000, "self", "read", control+"/secret"); !strings.HasPrefix(output, "!") {
		t.Errorf("the agent reads the secret: %q", output)
	}
	if _, code := g.Run(1000, "self", "connect", control+"/host.sock"); code == 0 {
		t.Error("the agent can dial the host")
	}
	agent, _ := g.Run(1000, "self", "status")
	for _, want := range []string{`CapPrm:\s0{16}\b`, `CapEff:\s0{16}\b`, `CapAmb:\s0{16}\b`, `NoNewPrivs:\s1\b`} {
		if !regexp.MustCompile(want).MatchString(agent) {
			t.Errorf("the agent's status lacks %s:\n%s", want, agent)
		}
	}
}

func pauseResume(t *testing.T, h Harness) {
	m := h.start(t, h.Open(t), h.spec())
	g := Accept(t, m)
	burner := g.Spawn(1000, "self", "burn")
	id := m.Handle().ID
	busy := cpuTicks(t, id)
	eventually(t, "the machine uses CPU", func() bool { return cpuTicks(t, id) > busy+10 })

	for range 2 { // once more is no error
		if err := m.Pause(t.Context()); err != nil {
			t.Fatalf("pause: %v", err)
		}
		if !m.Paused() {
			t.Fatal("a paused machine says that it is not")
		}
	}
	pids, before := Pids(t, id), cpuTicks(t, id)
	if !g.silent(request{Op: "ticks"}, frozen) {
		t.Error("the guest of a paused machine answers")
	}
	if used := cpuTicks(t, id) - before; used > 2 {
		t.Errorf("the paused machine used %d ticks of CPU in %v", used, frozen)
	}
	for range 2 {
		if err := m.Resume(t.Context()); err != nil {
			t.Fatalf("resume: %v", err)
		}
		if m.Paused() {
			t.Fatal("a resumed machine says that it is paused")
		}
	}
	if a := g.read(); a.Error != "" { // to the question asked while frozen
		t.Errorf("the guest answers %q", a.Error)
	}
	if !g.alive(burner) {
		t.Error("the process did not live through the pause")
	}
	if after := Pids(t, id); fmt.Sprint(after) != fmt.Sprint(pids) {
		t.Errorf("host processes %v before and %v after the pause", pids, after)
	}
	busy = cpuTicks(t, id)
	eventually(t, "the resumed machine uses CPU", func() bool { return cpuTicks(t, id) > busy+10 })
}

func stoppedGuest(t *testing.T, h Harness) {
	d := h.Open(t)
	m := h.start(t, d, h.spec())
	g := Accept(t, m)
	if err := d.Continue(t.Context(), m.Handle()); err != nil { // it is not stopped
		t.Errorf("continue: %v", err)
	}
	if !g.silent(request{Op: "run", Args: []string{"self", "stop"}}, frozen) {
		t.Skip("root inside cannot stop the guest: it answers")
	}
	if err := m.Pause(t.Context()); err != nil {
		t.Fatalf("pause: %v", err)
	}
	if err := d.Continue(t.Context(), m.Handle()); err != nil {
		t.Errorf("continue a paused machine: %v", err)
	}
	if !m.Paused() || !g.silent(request{Op: "ticks"}, frozen) {
		t.Error("a paused machine goes on")
	}
	if err := m.Resume(t.Context()); err != nil {
		t.Fatalf("resume: %v", err)
	}
	if err := d.Continue(t.Context(), m.Handle()); err != nil {
		t.Errorf("continue: %v", err)
	}
	if a := g.read(); a.Error != "" || a.Code != 0 { // of what stopped it
		t.Errorf("the guest answers %+v", a)
	}
	if a := g.read(); a.Ticks == 0 {
		t.Errorf("the guest answers %+v", a)
	}
	m.Close()
	if err := d.Continue(t.Context(), m.Handle()); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("continue a machine that nobody holds: %v", err)
	}
}

func turns(t *testing.T, h Harness) {
	m := h.start(t, h.Open(t), h.spec())
	g := Accept(t, m)
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 5 {
				if err := errors.Join(m.Pause(t.Context()), m.Resume(t.Context())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if err := m.Resume(t.Context()); err != nil {
		t.Fatalf("resume: %v", err)
	}
	if output, _ := g.Run(0, "self", "hostname"); output == "" {
		t.Error("the guest says nothing")
	}
}

func stats(t *testing.T, h Harness) {
	d := h.Open(t)
	m := h.start(t, d, h.spec())
	g := Accept(t, m)
	first, err := m.Stats(t.Context())
	if err != nil {
		t.Fatalf("stats: %v", err)
	}
	if first.Memory <= 0 {
		t.Errorf("%d bytes in memory", first.Memory)
	}
	if limited := d.Capabilities().Limits != ""; limited != (first.Pids > 0) {
		t.Errorf("%d host processes, limits %q", first.Pids, d.Capabilities().Limits)
	}
	g.Spawn(1000, "self", "burn")
	eventually(t, "CPU time grows", func() bool {
		now, err := m.Stats(t.Context())
		if err != nil {
			t.Fatalf("stats: %v", err)
		}
		return now.CPU > first.CPU+50*time.Millisecond
	})
	g.Run(1000, "self", "fill", "/tmp/filled", "8")
	eventually(t, "bytes on disk grow", func() bool {
		now, err := m.Stats(t.Context())
		if err != nil {
			t.Fatalf("stats: %v", err)
		}
		return now.Disk >= first.Disk+8<<20
	})
	const mib = 64
	g.Spawn(1000, "self", "alloc", fmt.Sprint(mib))
	eventually(t, "memory grows", func() bool {
		now, err := m.Stats(t.Context())
		if err != nil {
			t.Fatalf("stats: %v", err)
		}
		return now.Memory > first.Memory+(mib-8)<<20
	})
}

func outOfMemory(t *testing.T, h Harness) {
	d := h.Open(t)
	if d.Capabilities().Limits == "" {
		t.Skip("no limits can be set here")
	}
	spec := h.spec()
	spec.Size.MemoryMB = 64
	m := h.start(t, d, spec)
	g := Accept(t, m)
	g.Spawn(1000, "self", "alloc", "1024")
	eventually(t, "the machine is flagged", func() bool {
		select {
		case <-m.Done():
			return true
		default:
		}
		stats, err := m.Stats(t.Context())
		return err == nil && stats.OOMKills > 0
	})
	select {
	case <-m.Done():
		if exit := m.Exit(); !exit.OOM {
			t.Errorf("exit %+v, want OOM", exit)
		}
	default: // the host chose a process inside; the machine lives on, for now
	}
}

func memoryAlarm(t *testing.T, h Harness) {
	d := h.Open(t)
	m := h.start(t, d, h.spec())
	g := Accept(t, m)
	if m.MemoryAlarm() == nil {
		t.Skip("this driver has the caller look")
	}
	silent := func(m sandbox.Machine) bool {
		select {
		case _, open := <-m.MemoryAlarm():
			if !open {
				t.Fatal("the alarm is closed")
			}
			return false
		case <-time.After(frozen):
			return true
		}
	}
	eventually(t, "a machine that does nothing is left alone", func() bool { return silent(m) })
	near := func(m sandbox.Machine) bool {
		now, err := m.Stats(t.Context())
		if err != nil {
			t.Fatalf("stats: %v", err)
		}
		return now.Memory > now.Full/4*3
	}
	g.Spawn(1000, "self", "alloc", "250")
	eventually(t, "an alarm while memory fills", func() bool { return !silent(m) })
	eventually(t, "memory is nearly full", func() bool { return near(m) })

	// A restarted server hears it, too.
	if err := m.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	g.conn.Close()
	again, err := h.Open(t).Recover(t.Context(), m.Handle(), nil)
	if err != nil {
		t.Fatalf("recover: %v", err)
	}
	t.Cleanup(func() { again.Close() })
	Accept(t, again).Spawn(1000, "self", "alloc", "80") // beyond full
	eventually(t, "an alarm after recovery", func() bool { return !silent(again) })
}

func recoverClosed(t *testing.T, h Harness) {
	d := h.Open(t)
	m := h.start(t, d, h.spec())
	g := Accept(t, m)
	sleeper := g.Spawn(1000, "self", "sleep")
	if err := m.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	if _, err := m.Control().Accept(); err == nil {
		t.Error("the closed machine's listener still stands")
	}
	g.conn.Close()

	again, err := h.Open(t).Recover(t.Context(), m.Handle(), nil)
	if err != nil {
		t.Fatalf("recover: %v", err)
	}
	t.Cleanup(func() { again.Close() })
	wantSame(t, again, m.Secret(), sleeper)
	if err := errors.Join(again.Pause(t.Context()), again.Resume(t.Context())); err != nil {
		t.Errorf("pause and resume after recover: %v", err)
	}
	if err := h.Open(t).Destroy(t.Context(), m.Handle()); err != nil {
		t.Errorf("destroy: %v", err)
	}
	waitDone(t, again)
}

// wantSame checks that a recovered machine, which runs, is the one that it was.
func wantSame(t *testing.T, m sandbox.Machine, secret string, pid int) {
	t.Helper()
	if m.Paused() {
		t.Error("a running machine is recovered paused")
	}
	if m.Secret() != secret {
		t.Error("the secret changed")
	}
	g := Accept(t, m)
	if g.Secret != secret {
		t.Errorf("the guest shows %q, want %q", g.Secret, secret)
	}
	if pid != 0 && !g.alive(pid) {
		t.Error("the machine's process is gone")
	}
}

func recoverCrashed(t *testing.T, h Harness) {
	for _, paused := range []bool{false, true} {
		spec := h.spec()
		d := h.Open(t)
		handle, err := d.Plan(spec)
		if err != nil {
			t.Fatalf("plan: %v", err)
		}
		h.destroyLater(t, d, handle)
		h.Crash(t, spec, h.Steps[len(h.Steps)-1], paused)
		m, err := d.Recover(t.Context(), handle, nil)
		if err != nil {
			t.Fatalf("recover: %v", err)
		}
		t.Cleanup(func() { m.Close() })
		if m.Paused() != paused {
			t.Errorf("paused is %v, was %v", m.Paused(), paused)
		}
		if paused {
			before := cpuTicks(t, spec.ID)
			if err := m.Resume(t.Context()); err != nil {
				t.Fatalf("resume: %v", err)
			}
			if used := cpuTicks(t, spec.ID) - before; used > 10 {
				t.Errorf("the paused machine used %d ticks", used)
			}
		}
		wantSame(t, m, m.Secret(), 0)
		if _, err := d.Recover(t.Context(), handle, nil); err == nil {
			t.Error("a machine that is held is recovered again")
		}
	}
}
