package gvisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"paddock/internal/runtimes"
	"paddock/internal/sandbox"
)

// Name is the driver's word in handles.
const Name = "gvisor"

// Options is what a Driver needs to know. All folders are absolute.
type Options struct {
	// Root is where the machines' folders are, e.g. <data>/sandboxes. It is
	// made when absent; one server at a time may use it.
	Root string
	// RuntimeDir holds the programs mounted at sandbox.RuntimeMount, among them
	// paddock-guest. RuntimeDigest names their content and that of this binary.
	RuntimeDir, RuntimeDigest string
	// Runtimes are the builds whose machines may live here. Without it, every
	// machine is driven by the gVisor in this program.
	Runtimes *runtimes.Set
	// AgentsDir is mounted at sandbox.AgentsMount. It is made when absent.
	AgentsDir string
	// Rootfs and Network give each machine its root and its namespace.
	Rootfs  sandbox.Rootfs
	Network sandbox.Network
	// Logger gets one line per machine's start and end, and at level debug what
	// the gVisor libraries say. Their log is one per process: the last Driver
	// made has it.
	Logger *slog.Logger
}

// Driver is the sandbox.Driver of gVisor.
type Driver struct {
	options Options
	groups  hierarchies
	turns   turns
	census  census

	// passed is called by Start after each of its steps; tests crash there.
	passed func(step string)

	mu       sync.Mutex
	live     map[string]*machine   // machines that this process holds, by id
	children map[string][]*process // see forget
}

var _ sandbox.Driver = (*Driver)(nil)

// New makes the driver. It needs root, and says so. Where control groups
// cannot be made, it warns and goes on without limits.
func New(options Options) (*Driver, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("the gvisor driver needs root: start the server as root")
	}
	if err := checkStatic(self); err != nil {
		return nil, err
	}
	for _, folder := range []*string{&options.Root, &options.RuntimeDir, &options.AgentsDir} {
		if !filepath.IsAbs(*folder) {
			return nil, fmt.Errorf("folder %q is not absolute", *folder)
		}
	}
	for _, folder := range []string{options.Root, options.AgentsDir} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("make folder: %w", err)
		}
	}
	// Processes are found by the paths in their command lines: these must be
	// the same whatever name the server was started with.
	for _, folder := range []*string{&options.Root, &options.RuntimeDir, &options.AgentsDir} {
		real, err := filepath.EvalSymlinks(*folder)
		if err != nil {
			return nil, fmt.Errorf("find folder: %w", err)
		}
		*folder = real
	}
	if err := os.Chmod(options.AgentsDir, 0o755); err != nil { // the agent reads it
		return nil, fmt.Errorf("open agents folder to all: %w", err)
	}
	setRunscLog(options.Logger)
	if err := writeFilters(options.Root); err != nil {
		options.Logger.Warn("sandboxes start more slowly", "driver", Name, "reason", err)
	}
	groups, err := findHierarchies()
	if err != nil {
		options.Logger.Warn("sandboxes run without limits", "driver", Name, "reason", err)
	}
	return &Driver{
		options: options, groups: groups, passed: func(string) {},
		live: map[string]*machine{}, children: map[string][]*process{},
	}, nil
}

// Name is part of sandbox.Driver.
func (d *Driver) Name() string { return Name }

// Capabilities is part of sandbox.Driver.
func (d *Driver) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{Isolation: "gvisor", Pause: true, Files: true, Confine: true, Limits: d.groups.kind()}
}

// idForm is what an id may look like: it becomes a folder's name, and gVisor
// takes any prefix of an id for the id, so all have one length.
var idForm = regexp.MustCompile(`^[a-z]+_[0-9a-z]{26}$`)

// Plan is part of sandbox.Driver.
func (d *Driver) Plan(spec sandbox.Spec) (sandbox.Handle, error) {
	if !idForm.MatchString(spec.ID) {
		return sandbox.Handle{}, fmt.Errorf("sandbox id %q is malformed", spec.ID)
	}
	state, err := json.Marshal(plan{DiskMB: spec.Size.DiskMB, MemoryMB: spec.Size.MemoryMB})
	if err != nil {
		return sandbox.Handle{}, fmt.Errorf("plan sandbox: %w", err)
	}
	return sandbox.Handle{
		Version: sandbox.HandleVersion, Driver: Name, ID: spec.ID, Runtime: d.options.RuntimeDigest, State: state,
	}, nil
}

// check refuses handles that are not ours. A handle of another runtime is: see
// control.
func (d *Driver) check(handle sandbox.Handle) error {
	if handle.Driver != Name {
		return fmt.Errorf("sandbox %s belongs to driver %q, not to %q", handle.ID, handle.Driver, Name)
	}
	if !idForm.MatchString(handle.ID) {
		return fmt.Errorf("sandbox id %q is malformed", handle.ID)
	}
	return nil
}

func (d *Driver) folderOf(id string) folder { return folder(filepath.Join(d.options.Root, id)) }

func (d *Driver) machine(id string) *machine {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[id]
}

// processes takes hold of all processes of machine id, found by their command
// lines and by the machine's control group.
func (d *Driver) processes(id string) ([]*process, error) {
	root, g := d.folderOf(id).runsc(), d.groups.group(id)
	pids, err := d.census.pids(root)
	if err != nil {
		return nil, err
	}
	var found []*process
	for _, pid := range pids {
		p, err := openOwn(pid, root)
		if err != nil {
			return found, err
		}
		if p != nil {
			found = append(found, p)
		}
	}
	if len(found) > 0 {
		return found, nil // the rest of the group ends with them
	}
	if pids, err = g.pids(); err != nil {
		return nil, err
	}
	for _, pid := range pids {
		p, err := openProcess(pid)
		if err != nil {
			continue // it ended
		}
		if !g.holds(pid) || p.ended() {
			p.close()
			continue
		}
		found = append(found, p)
	}
	return found, nil
}

// kill ends all processes of machine id.
func (d *Driver) kill(ctx context.Context, id string) error {
	return endProcesses(ctx, func() ([]*process, error) { return d.processes(id) })
}

// guard runs a call of the libraries, which know no context. When ctx ends
// first, it kills the machine's processes until the call returns.
func (d *Driver) guard(ctx context.Context, id string, call func() error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	answer := make(chan error, 1)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { answer <- call() })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
	}
	for {
		d.kill(context.WithoutCancel(ctx), id)
		select {
		case <-answer:
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
