package gvisor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"paddock/internal/sandbox"
)

// guestProgram is what runs as pid 1 inside.
const guestProgram = sandbox.RuntimeMount + "/paddock-guest"

// guestCapabilities is what uid 0 has inside: enough for the guest to start
// processes as any user and end them, and for `exec --user root` to install a
// package. Left out, among others: SYS_ADMIN (mounts), NET_ADMIN and NET_RAW
// (packets), SYS_PTRACE (other users' processes), SYS_RESOURCE (limits).
var guestCapabilities = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD",
	"CAP_NET_BIND_SERVICE", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// capabilities are those of the guest. That of a machine which is nobody's yet
// may set the hostname, which gVisor has nobody do from outside; it gives that up
// when it is told its name, before anything else runs in the machine.
func capabilities(spec sandbox.Spec) *specs.LinuxCapabilities {
	held := guestCapabilities
	if spec.Session == "" {
		held = append(slices.Clone(held), "CAP_SYS_ADMIN")
	}
	// No inheritable and no ambient ones: who stops being uid 0 has none.
	return &specs.LinuxCapabilities{Bounding: held, Effective: held, Permitted: held}
}

// mounts are the machine's mounts, the same for every machine and for ever: a
// restore compares them. /tmp is not among them: it is part of the root's
// writable layer, so that its files count as disk and not as memory, and are
// part of saved files. (gVisor would mount a tmpfs over an empty /tmp of the
// root, so a Rootfs has something in it.)
func mounts(run, runtime, agents string) []specs.Mount {
	readOnly := []string{"bind", "ro", "nosuid", "nodev"}
	return []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "nodev", "mode=1777"}},
		{Destination: sandbox.IdentityMount, Type: "bind", Source: run, Options: append([]string{"noexec"}, readOnly...)},
		{Destination: sandbox.RuntimeMount, Type: "bind", Source: runtime, Options: readOnly},
		{Destination: sandbox.AgentsMount, Type: "bind", Source: agents, Options: readOnly},
	}
}

// rlimits are those of the guest. The guest divides the tasks (processes and
// threads) that each user may have between the agent and everything else.
func rlimits(size sandbox.Size) []specs.POSIXRlimit {
	limits := []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Soft: 65536, Hard: 1 << 20}}
	if n := uint64(size.Pids); n > 0 {
		limits = append(limits, specs.POSIXRlimit{Type: "RLIMIT_NPROC", Soft: n, Hard: n})
	}
	return limits
}

// machineSpec describes a machine to gVisor.
func (d *Driver) machineSpec(f folder, spec sandbox.Spec, root, nsPath string) *specs.Spec {
	return &specs.Spec{
		Version:  specs.Version,
		Hostname: spec.Hostname,
		Root:     &specs.Root{Path: root},
		Mounts:   mounts(f.run(), d.options.RuntimeDir, d.options.AgentsDir),
		Process: &specs.Process{
			Args: []string{guestProgram},
			Cwd:  "/",
			Env: []string{
				"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
				"HOME=/root",
			},
			NoNewPrivileges: true,
			Capabilities:    capabilities(spec),
			Rlimits:         rlimits(spec.Size),
		},
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace},
				{Type: specs.NetworkNamespace, Path: nsPath},
			},
			Resources: resources(spec.Size),
		},
	}
}

// resources says what the machine shows inside; limits on the host are set by
// our own control groups.
func resources(size sandbox.Size) *specs.LinuxResources {
	r := &specs.LinuxResources{}
	if size.MemoryMB > 0 {
		limit := int64(size.MemoryMB) << 20
		r.Memory = &specs.LinuxMemory{Limit: &limit}
	}
	if size.VCPUs > 0 {
		period, quota := uint64(cpuPeriod), int64(size.VCPUs)*cpuPeriod
		r.CPU = &specs.LinuxCPU{Period: &period, Quota: &quota}
	}
	return r
}

// writeBundle puts the spec where gVisor's processes read it.
func (f folder) writeBundle(spec *specs.Spec) error {
	doc, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("encode machine spec: %w", err)
	}
	if err := os.WriteFile(filepath.Join(f.bundle(), "config.json"), doc, 0o600); err != nil {
		return fmt.Errorf("write machine spec: %w", err)
	}
	return nil
}
