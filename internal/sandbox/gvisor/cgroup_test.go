package gvisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/internal/sandbox"
)

const v1Mounts = `33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
34 30 0:30 / /sys/fs/cgroup/memory rw,relatime shared:3 - cgroup cgroup rw,memory
35 30 0:31 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
36 30 0:32 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
`

func TestParseHierarchies(t *testing.T) {
	for _, test := range []struct{ mountinfo, kind, memory string }{
		{"26 1 254:0 / / rw - ext4 /dev/vda rw\n", "", ""},
		{v1Mounts, "cgroup v1", "/sys/fs/cgroup/memory"},
		{v1Mounts + "37 30 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "cgroup hybrid", "/sys/fs/cgroup/memory"},
		{"37 30 0:33 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n", "cgroup v2", ""},
	} {
		h := parseHierarchies(test.mountinfo)
		if test.kind == "cgroup v2" {
			h.v2has = []string{"memory", "pids", "cpu"}
		}
		if h.kind() != test.kind || h.v1["memory"] != test.memory {
			t.Errorf("%q, memory at %q; want %q, %q", h.kind(), h.v1["memory"], test.kind, test.memory)
		}
	}
	if folders := parseHierarchies(v1Mounts).group("x").folders(); len(folders) != 3 {
		t.Errorf("folders %q; want cpu and cpuacct once", folders)
	}
}

// TestGroupV2 drives a made-up v2 tree, whose files take what is written.
func TestGroupV2(t *testing.T) {
	root := t.TempDir()
	h := hierarchies{v2: root, v2has: []string{"memory", "pids", "cpu"}}
	g := h.group("sbx")
	if err := g.make(sandbox.Size{VCPUs: 2, MemoryMB: 100, Pids: 50}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, groupParent, "sbx")
	for name, want := range map[string]string{
		"../../cgroup.subtree_control": "+memory +pids +cpu",
		"../cgroup.subtree_control":    "+memory +pids +cpu",
		"memory.max":                   "761266176", // 100 MiB and what hostMemory adds
		"memory.swap.max":              "0",
		"pids.max":                     "456",
		"cpu.max":                      "200000 100000",
		"cpu.max.burst":                "200000",
	} {
		if have, _ := os.ReadFile(filepath.Join(folder, name)); string(have) != want {
			t.Errorf("%s is %q, want %q", name, have, want)
		}
	}
	for name, text := range map[string]string{
		"cpu.stat": "usage_usec 1500000\nuser_usec 1\n", "memory.current": "1000\n", "memory.stat": "anon 5\ninactive_file 300\n",
		"pids.current": "7\n", "memory.events": "low 0\noom 1\noom_kill 2\n", "cgroup.procs": "12\n34\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := g.stats()
	if want := (sandbox.Stats{CPU: 1500 * time.Millisecond, Memory: 700, Pids: 7, OOMKills: 2}); err != nil || have != want {
		t.Errorf("%+v, %v; want %+v", have, err, want)
	}
	if pids, err := g.pids(); err != nil || len(pids) != 2 || !g.holds(34) || g.holds(3) {
		t.Errorf("pids %v, %v", pids, err)
	}
	alarm, err := g.oomAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer alarm.Close()
	if err := os.WriteFile(filepath.Join(folder, "memory.events"), []byte("oom_kill 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := alarm.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := alarm.Read(make([]byte, 4096)); err != nil {
		t.Errorf("no alarm: %v", err)
	}
}

// TestLimitsOnThisHost asks the kernel what it has of a machine's limits.
func TestLimitsOnThisHost(t *testing.T) {
	d := mustOpen(t, "runtime")
	if d.groups.kind() == "" {
		t.Skip("no control groups here")
	}
	m := testMachine(t, d)
	g := d.groups.group(m.Handle().ID)
	for _, look := range []struct{ controller, v1, v1want, v2, v2want string }{
		{"memory", "memory.limit_in_bytes", "1409286144", "memory.max", "1409286144"}, // 512 MiB and what hostMemory adds
		{"pids", "pids.max", "1280", "pids.max", "1280"},
		{"cpu", "cpu.cfs_quota_us", "200000", "cpu.max", "200000 100000"},
	} {
		path, isV2 := g.file(look.controller, look.v1, look.v2)
		want := look.v1want
		if isV2 {
			want = look.v2want
		}
		if have, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(have)) != want {
			t.Errorf("%s is %q, %v; want %s", path, have, err, want)
		}
	}
	found, err := d.processes(m.Handle().ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		if !g.holds(p.pid) {
			t.Errorf("process %d of the machine is outside its group", p.pid)
		}
		p.close()
	}
	if len(found) < 2 {
		t.Errorf("%d processes found", len(found))
	}
}

// TestGroupDelegated: where systemd has left a part of the tree to us, new
// groups are made there and nothing else is written to; older ones stay where
// they are.
func TestGroupDelegated(t *testing.T) {
	root, named := t.TempDir(), t.TempDir()
	h := hierarchies{v2: root, v2has: []string{"memory", "pids", "cpu"}, named: []string{named}}
	older := h.group("older")
	if err := older.make(sandbox.Size{}); err != nil {
		t.Fatal(err)
	}
	control := filepath.Join(root, "cgroup.subtree_control")
	if err := os.Remove(control); err != nil {
		t.Fatal(err)
	}
	for _, mount := range []string{root, named} {
		if err := os.MkdirAll(filepath.Join(mount, delegatedParent), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g := h.group("newer")
	if err := g.make(sandbox.Size{MemoryMB: 100}); err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(root, delegatedParent, "newer"), filepath.Join(named, delegatedParent, "newer")}
	slices.Sort(want)
	if got := g.folders(); !slices.Equal(got, want) {
		t.Errorf("folders %v, want %v", got, want)
	}
	if exists(control) {
		t.Error("the root, which is systemd's, was written to")
	}
	if have, _ := os.ReadFile(filepath.Join(root, delegatedParent, "cgroup.subtree_control")); string(have) != "+memory +pids +cpu" {
		t.Errorf("controllers handed on: %q", have)
	}
	if got := older.folders(); !slices.Contains(got, filepath.Join(root, groupParent, "older")) {
		t.Errorf("the older group is looked for at %v", got)
	}
	for _, folder := range want { // a real group's files do not stand in the way
		files, _ := filepath.Glob(filepath.Join(folder, "*"))
		for _, file := range files {
			_ = os.Remove(file)
		}
	}
	if err := g.remove(time.Now()); err != nil {
		t.Error(err)
	}
	if !exists(filepath.Join(root, delegatedParent)) {
		t.Error("systemd's group was removed")
	}
}
