package gvisor

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
)

// The machines' control groups stand in one of these, in each hierarchy. Both
// are beside the server's own group, not in it: machines outlive the server,
// and its limits are not theirs.
const (
	// delegatedParent is the group of paddock-sandboxes.service. Where it is
	// there it is taken, for systemd manages the tree and has left this part of
	// it to us.
	delegatedParent = "paddock.slice/paddock-sandboxes.service"
	// groupParent we make ourselves, where nobody manages the tree.
	groupParent = "paddock-sandboxes"
)

// controllers are those we limit or measure with.
var controllers = []string{"memory", "pids", "cpu", "cpuacct"}

// hierarchies are the control group file systems of this host that carry one
// of our controllers. The zero value is a host without, or where we may not.
type hierarchies struct {
	v1    map[string]string // controller → mount point
	v2    string            // mount point; "" when there is none
	v2has []string          // our controllers that v2 carries
	named []string          // mount points of hierarchies without controllers, by which systemd tracks processes
}

// findHierarchies reads what is mounted here and tries whether groups can be
// made; err says why not.
func findHierarchies() (hierarchies, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchies{}, fmt.Errorf("find control groups: %w", err)
	}
	h := parseHierarchies(string(mountinfo))
	if h.v2 != "" {
		text, err := os.ReadFile(filepath.Join(h.v2, "cgroup.controllers"))
		if err != nil {
			return hierarchies{}, fmt.Errorf("find control groups: %w", err)
		}
		for _, c := range strings.Fields(string(text)) {
			if slices.Contains(controllers, c) {
				h.v2has = append(h.v2has, c)
			}
		}
		if len(h.v2has) == 0 {
			h.named = append(h.named, h.v2)
		}
	}
	measured := h.v1["cpuacct"] != "" || len(h.v2has) > 0
	if !h.carries("memory") || !h.carries("pids") || !h.carries("cpu") || !measured {
		return hierarchies{}, errors.New("no control groups for memory, pids and cpu are mounted")
	}
	probe := h.group("probe-" + randomHex(8))
	err = probe.make(sandbox.Size{MemoryMB: 64, VCPUs: 1, Pids: 16})
	if e := probe.remove(time.Now().Add(time.Second)); err == nil {
		err = e
	}
	if err != nil {
		return hierarchies{}, err
	}
	return h, nil
}

// parseHierarchies reads the lines of a mountinfo file that are of control
// groups: "… mountpoint options … - type source super-options".
func parseHierarchies(mountinfo string) hierarchies {
	h := hierarchies{v1: map[string]string{}}
	lines := bufio.NewScanner(strings.NewReader(mountinfo))
	for lines.Scan() {
		mount, super, ok := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(mount), strings.Fields(super)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		switch right[0] {
		case "cgroup2":
			if h.v2 == "" {
				h.v2 = left[4]
			}
		case "cgroup":
			for _, option := range strings.Split(right[2], ",") {
				if option == "name=systemd" {
					h.named = append(h.named, left[4])
				}
				if slices.Contains(controllers, option) && h.v1[option] == "" {
					h.v1[option] = left[4]
				}
			}
		}
	}
	return h
}

func (h hierarchies) carries(controller string) bool {
	return h.v1[controller] != "" || slices.Contains(h.v2has, controller)
}

// kind is what Capabilities.Limits says.
func (h hierarchies) kind() string {
	switch {
	case len(h.v1) == 0 && len(h.v2has) == 0:
		return ""
	case len(h.v1) == 0:
		return "cgroup v2"
	case h.v2 == "":
		return "cgroup v1"
	default:
		return "cgroup hybrid"
	}
}

// group is one machine's control group, which is a folder in each hierarchy in
// use.
type group struct {
	hierarchies
	name string
}

func (h hierarchies) group(name string) group { return group{h, name} }

// at is the group's folder below a mount point: where it stands, else where it
// is to be made.
func (g group) at(mount string) string {
	delegated, own := filepath.Join(mount, delegatedParent), filepath.Join(mount, groupParent)
	if exists(filepath.Join(own, g.name)) || !exists(delegated) {
		return filepath.Join(own, g.name)
	}
	return filepath.Join(delegated, g.name)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// file is the path of a control file, on v1 that of the controller's own
// hierarchy.
func (g group) file(controller, v1name, v2name string) (path string, isV2 bool) {
	if mount := g.v1[controller]; mount != "" {
		return filepath.Join(g.at(mount), v1name), false
	}
	return filepath.Join(g.at(g.v2), v2name), true
}

// folders are the group's folders, one for each hierarchy.
func (g group) folders() []string {
	var folders []string
	for _, mount := range g.v1 {
		folders = append(folders, g.at(mount))
	}
	if len(g.v2has) > 0 {
		folders = append(folders, g.at(g.v2))
	}
	for _, mount := range g.named { // where systemd sees the delegation, it sees the machines in it
		if exists(filepath.Join(mount, delegatedParent)) {
			folders = append(folders, filepath.Join(mount, delegatedParent, g.name))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders) // cpu and cpuacct are often one hierarchy
}

// make makes the group with its limits. What is not limited (0) stays so.
func (g group) make(size sandbox.Size) error {
	if g.kind() == "" {
		return nil
	}
	if err := g.enableV2(); err != nil {
		return err
	}
	for _, folder := range g.folders() {
		if err := makeGroupFolder(folder); err != nil {
			return fmt.Errorf("make control group: %w", err)
		}
	}
	return g.limit(size)
}

// makeGroupFolder makes a group and its parent. Another machine's removal may
// take an empty parent away in between.
func makeGroupFolder(folder string) error {
	for range 10 {
		err := os.Mkdir(folder, 0o755)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Mkdir(filepath.Dir(folder), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("%s is removed again and again", filepath.Dir(folder))
}

// enableV2 hands our controllers down to the machines' groups: from the root,
// or from where systemd has left them to us.
func (g group) enableV2() error {
	if len(g.v2has) == 0 {
		return nil
	}
	parent := filepath.Dir(g.at(g.v2))
	handOn := []string{g.v2, parent}
	if parent != filepath.Join(g.v2, groupParent) {
		handOn = handOn[1:]
	}
	if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make control group: %w", err)
	}
	words := "+" + strings.Join(g.v2has, " +")
	for _, folder := range handOn {
		if err := os.WriteFile(filepath.Join(folder, "cgroup.subtree_control"), []byte(words), 0); err != nil {
			return fmt.Errorf("enable controllers: %w", err)
		}
	}
	return nil
}

// place moves processes, with their threads, into the group. Those that ended
// meanwhile are no error.
func (g group) place(pids []int) error {
	for _, folder := range g.folders() {
		for _, pid := range pids {
			err := os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("place process in control group: %w", err)
			}
		}
	}
	return nil
}

// pids are the processes in the group.
func (g group) pids() ([]int, error) {
	var pids []int
	for _, folder := range g.folders() {
		text, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list control group: %w", err)
		}
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// holds says whether process pid is in the group.
func (g group) holds(pid int) bool {
	pids, err := g.pids()
	return err == nil && slices.Contains(pids, pid)
}

// remove removes the group, whose processes have ended, and the parent when it
// is of our making and this was the last. The kernel lets go of ended processes a moment later.
func (g group) remove(deadline time.Time) error {
	for _, folder := range g.folders() {
		if err := removeGroupFolder(folder, deadline); err != nil {
			return fmt.Errorf("remove control group: %w", err)
		}
		if parent := filepath.Dir(folder); filepath.Base(parent) == groupParent {
			os.Remove(parent) // refused while another machine is in it
		}
	}
	return nil
}

func removeGroupFolder(folder string, deadline time.Time) error {
	for {
		err := os.Remove(folder)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}
