package gvisor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// What is done in a machine's own processes before gVisor's main sees their
// arguments: putting right what the runsc libraries take from the process that
// spawns, and that is wrong for a long-lived server with many machines.

// isOurs says whether argv starts the kernel or the gofer of one of our
// machines: the driver's spawn, as against `paddock runsc run`, whose user
// wants his own streams.
func isOurs(argv []string) bool {
	name := filepath.Base(argv[0])
	return (name == "runsc-sandbox" || name == "runsc-gofer") && filepath.Base(bundleOf(argv)) == bundleFolder
}

// dropProtection makes this process an ordinary victim of a host without
// memory: a service manager may have told it to spare the server, not what runs
// in sandboxes. See process.protect.
func dropProtection() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0) // refused only where it is lower than allowed
}

// closeStrays closes inherited descriptors that no argument speaks of. The
// libraries open some without close-on-exec for a moment, so that a machine
// started by another goroutine in that moment gets them: a hole in its walls,
// and its kernel rightly refuses to start.
func closeStrays(argv []string) {
	names, err := readNames("/proc/self/fd")
	if err != nil {
		os.Exit(1)
	}
	given := descriptors(argv, "")
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 || slices.Contains(given, fd) {
			continue
		}
		// What this process itself has opened is close-on-exec.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// sealStdio puts /dev/null over the streams that the libraries hand to the
// machine, which are those of the server: whoever reads from the server's
// output must see its end when the server ends, not when the last machine does.
func sealStdio(argv []string) {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		os.Exit(1)
	}
	defer unix.Close(null)
	for _, fd := range descriptors(argv, "stdio-fds") {
		if unix.Dup3(null, fd, 0) != nil {
			os.Exit(1)
		}
	}
}

// descriptors gives the numbers in argv's flags of that name, --name=3; of all
// flags whose names end in fd or fds when name is empty.
func descriptors(argv []string, name string) (fds []int) {
	for _, arg := range argv {
		flag, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !ok || name != "" && flag != name || !strings.HasSuffix(flag, "fd") && !strings.HasSuffix(flag, "fds") {
			continue
		}
		for _, text := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ':' }) {
			if fd, err := strconv.Atoi(text); err == nil {
				fds = append(fds, fd)
			}
		}
	}
	return fds
}

// boundedArgs adds how much memory and how many CPUs the machine shows inside,
// so that programs size themselves by the machine and not by the host. The
// libraries read that from a control group of their own, which we do not use.
func boundedArgs(argv []string) []string {
	doc, err := os.ReadFile(filepath.Join(bundleOf(argv), "config.json"))
	if err != nil {
		return argv
	}
	var spec specs.Spec
	if json.Unmarshal(doc, &spec) != nil || spec.Linux == nil || spec.Linux.Resources == nil {
		return argv
	}
	last := len(argv) - 1 // the machine's id; flags stand before it, and the last of a kind wins
	return slices.Insert(slices.Clone(argv), last, boundFlags(spec.Linux.Resources, runtime.NumCPU())...)
}

// boundFlags gives boot's flags for resources on a host with hostCPUs. A
// machine never shows fewer than two CPUs: some programs leave out their locks
// on one, and the quota may still run them on several.
func boundFlags(resources *specs.LinuxResources, hostCPUs int) []string {
	var flags []string
	if m := resources.Memory; m != nil && m.Limit != nil {
		limit := strconv.FormatInt(*m.Limit, 10)
		// The second bounds what lies in /dev/shm and /dev: files in memory may
		// be half of what this flag says.
		flags = append(flags, "--total-memory="+limit, "--total-host-memory="+limit)
	}
	if c := resources.CPU; c != nil && c.Quota != nil && c.Period != nil && *c.Period > 0 {
		cpus := (*c.Quota + int64(*c.Period) - 1) / int64(*c.Period)
		cpus = min(max(cpus, 2), int64(hostCPUs))
		flags = append(flags, "--cpu-num="+strconv.FormatInt(cpus, 10))
	}
	return flags
}

func bundleOf(argv []string) string {
	for _, arg := range argv {
		if folder, ok := strings.CutPrefix(arg, "--bundle="); ok {
			return folder
		}
	}
	return ""
}
