package gvisor

import (
	"context"
	"fmt"
	"os"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/container"

	"paddock/internal/sandbox"
	"paddock/internal/undo"
)

// startSteps are the steps of Start that leave something on the host, in
// order. After each of them the server may be killed.
var startSteps = []string{"folder", "network", "bundle", "listen", "group", "create", "place", "start", "running"}

// undoTime bounds the removal of what a failed Start has made.
const undoTime = killTime + 10*time.Second

// start is a Start in the making.
type start struct {
	*Driver
	parts
	spec sandbox.Spec
	oci  *specs.Spec
	conf *config.Config
	box  *container.Container
}

// Start is part of sandbox.Driver.
func (d *Driver) Start(ctx context.Context, handle sandbox.Handle, spec sandbox.Spec) (_ sandbox.Machine, err error) {
	if err := d.check(handle); err != nil {
		return nil, err
	}
	if handle.ID != spec.ID {
		return nil, fmt.Errorf("handle is of sandbox %s, spec of %s", handle.ID, spec.ID)
	}
	release, err := d.turns.take(ctx, handle.ID)
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	defer release()

	began := time.Now()
	root, err := d.options.Rootfs.Prepare(ctx, spec.Template, nil)
	if err != nil {
		return nil, fmt.Errorf("prepare template %s: %w", spec.Template, err)
	}
	s := &start{Driver: d, spec: spec}
	f := d.folderOf(handle.ID)
	s.parts = parts{handle: handle, folder: f, control: direct{f, handle.ID}, group: d.groups.group(handle.ID)}
	if err := s.folder.make(); err != nil {
		return nil, err // nothing was made, or not by us
	}
	var u undo.Stack
	defer u.Unwind(&err)
	u.Push(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		return s.undo(ctx)
	})
	m, err := s.run(ctx, root.Path)
	if err != nil {
		return nil, fmt.Errorf("start sandbox %s: %w", handle.ID, err)
	}
	u.Release()
	log := d.options.Logger
	if spec.Session != "" { // else it is nobody's yet
		log = log.With("session_id", spec.Session)
	}
	log.InfoContext(ctx, "sandbox started", "sandbox_id", handle.ID, "driver", Name, "took", time.Since(began))
	return m, nil
}

// run takes the steps of startSteps.
func (s *start) run(ctx context.Context, root string) (*machine, error) {
	if err := s.folder.fill(s.handle); err != nil {
		return nil, err
	}
	s.passed("folder")
	nsPath, err := s.options.Network.Attach(ctx, s.handle.ID, s.spec.Egress, s.spec.Secrets)
	if err != nil {
		return nil, fmt.Errorf("attach network: %w", err)
	}
	s.passed("network")
	if err := s.bundle(root, nsPath); err != nil {
		return nil, err
	}
	s.passed("bundle")
	if s.listener, err = s.folder.listen(); err != nil {
		return nil, err
	}
	s.passed("listen")
	if err := s.group.make(s.spec.Size); err != nil {
		return nil, err
	}
	s.passed("group")
	if err := s.guard(ctx, s.handle.ID, s.create); err != nil {
		return nil, fmt.Errorf("create machine: %w", err)
	}
	s.passed("create")
	if err := s.place(); err != nil {
		return nil, err
	}
	s.passed("place")
	if err := s.guard(ctx, s.handle.ID, func() error { return s.box.Start(s.conf) }); err != nil {
		return nil, fmt.Errorf("start machine: %w%s", err, s.folder.lastPanic())
	}
	if s.spec.Files != "" {
		if err := (direct{s.folder, s.handle.ID}).waitFiles(ctx); err != nil {
			return nil, err
		}
	}
	s.passed("start")
	if err := s.folder.writeStatus(running); err != nil {
		return nil, err
	}
	m := s.hold(s.parts, running)
	s.passed("running")
	return m, nil
}

func (s *start) bundle(root, nsPath string) (err error) {
	if s.secret, err = s.folder.identify(s.spec); err != nil {
		return err
	}
	if err := s.folder.trust(s.spec.Secrets, s.options.Network.Authority()); err != nil {
		return err
	}
	p, err := readPlan(s.handle)
	if err != nil {
		return err
	}
	s.full = full(p.MemoryMB)
	if s.conf, err = runscConfig(s.folder, nsPath, p); err != nil {
		return err
	}
	s.oci = s.machineSpec(s.folder, s.spec, root, nsPath)
	return s.folder.writeBundle(s.oci)
}

// create boots the machine's kernel and gofer; its guest does not run yet.
func (s *start) create() (err error) {
	s.box, err = container.New(s.conf, container.Args{
		ID: s.handle.ID, Spec: s.oci, BundleDir: s.folder.bundle(), FSRestoreImagePath: s.spec.Files,
	})
	return err
}

// place takes hold of the two processes and puts them under the limits before
// anything runs in the machine. All other processes of it are their children.
func (s *start) place() (err error) {
	for _, p := range []struct {
		held **process
		pid  int
	}{{&s.kernel, s.box.SandboxPid()}, {&s.gofer, s.box.GoferPid.Load()}} {
		if *p.held, err = openOwn(p.pid, s.folder.runsc()); err != nil {
			return err
		}
		if *p.held == nil {
			return fmt.Errorf("process %d of the machine has ended%s", p.pid, s.folder.lastPanic())
		}
		tree := treePids(p.pid)
		if err := s.group.place(tree); err != nil {
			return err
		}
		for _, stub := range tree[1:] {
			offer(stub)
		}
	}
	return nil
}

// undo removes whatever run has made.
func (s *start) undo(ctx context.Context) error {
	defer s.parts.close()
	return s.remove(ctx, s.handle.ID)
}

// lastPanic is the last thing a machine's kernel said, for error messages.
func (f folder) lastPanic() string {
	const most = 500
	text, _ := os.ReadFile(f.panics())
	if len(text) == 0 {
		return ""
	}
	if len(text) > most {
		text = text[:most]
	}
	return ": " + string(text)
}
