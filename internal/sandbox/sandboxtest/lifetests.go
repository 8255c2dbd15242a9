package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
)

func planIsPure(t *testing.T, h Harness) {
	d, spec := h.Open(t), h.spec()
	one, err := d.Plan(spec)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	two, err := d.Plan(spec)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	docOne, err := one.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if docTwo, _ := two.Encode(); string(docOne) != string(docTwo) {
		t.Errorf("two plans differ: %s and %s", docOne, docTwo)
	}
	back, err := sandbox.DecodeHandle(docOne)
	if err != nil || back.ID != spec.ID || back.Driver != d.Name() || back.Runtime == "" {
		t.Errorf("handle %+v, %v; want the id, the driver and the runtime", back, err)
	}
	h.wantNone(t, spec.ID)
	if h.lists(t, d, spec.ID) {
		t.Error("a planned machine is listed among the leftovers")
	}
	if _, err := d.Recover(t.Context(), one, nil); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("recover of a planned machine: %v, want ErrGone", err)
	}
	if err := d.Destroy(t.Context(), one); err != nil {
		t.Errorf("destroy of a planned machine: %v", err)
	}
}

func start(t *testing.T, h Harness) {
	d, spec := h.Open(t), h.spec()
	m := h.start(t, d, spec)
	if m.Handle().ID != spec.ID {
		t.Errorf("handle of %s, want %s", m.Handle().ID, spec.ID)
	}
	if m.Paused() {
		t.Error("the machine starts paused")
	}
	g := Accept(t, m)
	if g.Secret != m.Secret() || len(g.Secret) != 64 {
		t.Errorf("the guest shows %q, the machine says %q; want the same 32 bytes in hex", g.Secret, m.Secret())
	}
	other := h.start(t, d, h.spec())
	if other.Secret() == m.Secret() {
		t.Error("two machines have one secret")
	}
}

func startTwice(t *testing.T, h Harness) {
	d, spec := h.Open(t), h.spec()
	m := h.start(t, d, spec)
	g := Accept(t, m)
	if _, err := d.Start(t.Context(), m.Handle(), spec); err == nil {
		t.Error("a second start is no error")
	}
	if output, _ := g.Run(0, "self", "hostname"); output != spec.Hostname+"\n" {
		t.Errorf("after the second start the guest says %q", output)
	}
}

func failedStart(t *testing.T, h Harness) {
	d, spec := h.Broken(t), h.spec()
	handle, err := d.Plan(spec)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	if _, err := d.Start(t.Context(), handle, spec); err == nil {
		t.Error("start is no error")
	}
	h.wantNone(t, spec.ID)

	spec.Template = "no-such-template"
	if _, err := h.Open(t).Start(t.Context(), handle, spec); err == nil {
		t.Error("start from an unknown template is no error")
	}
	h.wantNone(t, spec.ID)
}

func abandonedStart(t *testing.T, h Harness) {
	d := h.Open(t)
	for after := time.Millisecond; after < 200*time.Millisecond; after *= 2 {
		spec := h.spec()
		handle, err := d.Plan(spec)
		if err != nil {
			t.Fatalf("plan: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), after)
		m, err := d.Start(ctx, handle, spec)
		cancel()
		if err == nil { // it was quicker
			m.Close()
			if err := d.Destroy(t.Context(), handle); err != nil {
				t.Errorf("destroy: %v", err)
			}
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("start given up after %v: %v", after, err)
		}
		h.wantNone(t, spec.ID)
	}
}

func killed(t *testing.T, h Harness) {
	d := h.Open(t)
	m := h.start(t, d, h.spec())
	Accept(t, m)
	before := time.Now()
	for _, pid := range Pids(t, m.Handle().ID) {
		unix.Kill(pid, unix.SIGKILL)
	}
	exit := waitDone(t, m)
	if exit.At.Before(before) || exit.At.After(time.Now()) || exit.OOM || exit.Reason == "" {
		t.Errorf("exit %+v; want the time, no OOM and a reason", exit)
	}
	wantGone(t, "pause", m.Pause(t.Context()))
	wantGone(t, "resume", m.Resume(t.Context()))
	if err := m.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	_, err := d.Recover(t.Context(), m.Handle(), nil)
	wantGone(t, "recover", err)
}

func firstProcessEnds(t *testing.T, h Harness) {
	m := h.start(t, h.Open(t), h.spec())
	Accept(t, m).send(request{Op: "exit"})
	if exit := waitDone(t, m); exit.OOM || exit.Reason == "" {
		t.Errorf("exit %+v; want no OOM and a reason", exit)
	}
}

func destroy(t *testing.T, h Harness) {
	d, spec := h.Open(t), h.spec()
	handle, err := d.Plan(spec)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	m, err := d.Start(t.Context(), handle, spec)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	g := Accept(t, m)
	g.Spawn(1000, "self", "sleep")
	if err := d.Destroy(t.Context(), handle); err != nil {
		t.Errorf("destroy: %v", err)
	}
	h.wantNone(t, spec.ID)
	if exit := waitDone(t, m); exit.OOM {
		t.Errorf("exit %+v; want no OOM", exit)
	}
	if _, err := m.Control().Accept(); err == nil {
		t.Error("the control listener still stands")
	}
	if h.lists(t, d, spec.ID) {
		t.Error("a destroyed machine is listed among the leftovers")
	}
	wantGone(t, "pause", m.Pause(t.Context()))
	if err := m.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := d.Destroy(t.Context(), handle); err != nil {
		t.Errorf("destroy again: %v", err)
	}
	_, err = d.Recover(t.Context(), handle, nil)
	wantGone(t, "recover", err)

	paused := h.start(t, d, h.spec())
	if err := paused.Pause(t.Context()); err != nil {
		t.Fatalf("pause: %v", err)
	}
	if err := d.Destroy(t.Context(), paused.Handle()); err != nil {
		t.Errorf("destroy of a paused machine: %v", err)
	}
	h.wantNone(t, paused.Handle().ID)
}

func destroyHalfMade(t *testing.T, h Harness) {
	for _, step := range h.Steps {
		t.Run(step, func(t *testing.T) {
			spec := h.spec()
			h.Crash(t, spec, step, false)
			d := h.Open(t)
			handle, err := d.Plan(spec)
			if err != nil {
				t.Fatalf("plan: %v", err)
			}
			if !h.lists(t, d, spec.ID) {
				t.Error("the half made machine is not listed among the leftovers")
			}
			if step != h.Steps[len(h.Steps)-1] {
				if m, err := d.Recover(t.Context(), handle, nil); err == nil {
					m.Close()
				} else {
					wantGone(t, "recover", err)
				}
			}
			if err := d.Destroy(t.Context(), handle); err != nil {
				t.Errorf("destroy: %v", err)
			}
			h.wantNone(t, spec.ID)
		})
	}
}

func leftovers(t *testing.T, h Harness) {
	d := h.Open(t)
	running := h.start(t, d, h.spec())
	dead := h.start(t, d, h.spec())
	for _, pid := range Pids(t, dead.Handle().ID) {
		unix.Kill(pid, unix.SIGKILL)
	}
	waitDone(t, dead)
	handles, err := h.Open(t).Leftovers(t.Context())
	if err != nil {
		t.Fatalf("leftovers: %v", err)
	}
	for _, m := range []sandbox.Machine{running, dead} {
		want, _ := m.Handle().Encode()
		if !slices.ContainsFunc(handles, func(handle sandbox.Handle) bool {
			have, _ := handle.Encode()
			return string(have) == string(want)
		}) {
			t.Errorf("leftovers do not have %s", want)
		}
	}
}

func concurrent(t *testing.T, h Harness) {
	const machines = 8
	d := h.Open(t)
	live := func() error {
		spec := h.spec()
		handle, err := d.Plan(spec)
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		m, err := d.Start(t.Context(), handle, spec)
		if err != nil {
			return fmt.Errorf("start: %w", err)
		}
		defer m.Close()
		if err := m.Pause(t.Context()); err != nil {
			return fmt.Errorf("pause: %w", err)
		}
		if err := m.Resume(t.Context()); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
		if _, err := m.Stats(t.Context()); err != nil {
			return fmt.Errorf("stats: %w", err)
		}
		if err := d.Destroy(t.Context(), handle); err != nil {
			return fmt.Errorf("destroy: %w", err)
		}
		h.wantNone(t, spec.ID)
		return nil
	}
	var work sync.WaitGroup
	for range machines {
		work.Go(func() {
			if err := live(); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
}

func waitDone(t *testing.T, m sandbox.Machine) sandbox.Exit {
	t.Helper()
	select {
	case <-m.Done():
		return m.Exit()
	case <-time.After(wait):
		t.Fatal("the machine's end is not reported")
		return sandbox.Exit{}
	}
}

func wantGone(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("%s: %v, want ErrGone", what, err)
	}
}
