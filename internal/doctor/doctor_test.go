package doctor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersion(t *testing.T) {
	for in, want := range map[string][2]int{
		"6.18.44-fc": {6, 18}, "5.10-rc1": {5, 10}, "4.19.0-gvisor": {4, 19}, "nonsense": {}, "6": {},
	} {
		got, known := version(in)
		if got != want || known != (want != [2]int{}) {
			t.Errorf("version(%q) = %v, %v", in, got, known)
		}
	}
}

func TestLacks(t *testing.T) {
	for in, want := range map[string][]string{
		"CapPrm:\t0\nCapEff:\t000001ffffffffff\nX": nil,
		"CapEff:\t00000000a80425fb\n":              {"NET_ADMIN", "SYS_ADMIN", "SYS_PTRACE"}, // a container's default set
		"no such line":                             nil,
	} {
		if diff := cmp.Diff(want, lacks(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestHierarchies(t *testing.T) {
	v2 := "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	hybrid := "35 24 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n36 24 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	v1 := "36 24 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n37 24 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
	for in, want := range map[string]struct {
		kind        string
		controllers []string
	}{
		v2: {"v2", nil}, hybrid: {"hybrid", []string{"cpu", "cpuacct"}}, v1: {"v1", []string{"memory"}},
		"24 1 0:1 / / rw - ext4 /dev/vda rw\n": {}, "nonsense": {},
	} {
		kind, controllers := hierarchies(in)
		if kind != want.kind || !slices.Equal(controllers, want.controllers) {
			t.Errorf("%q: %s %v", in, kind, controllers)
		}
	}
}

func TestHolder(t *testing.T) {
	locks := "1: POSIX  ADVISORY  WRITE 11 fd:00:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 42 fd:00:77 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 43 fd:00:78 0 EOF\n"
	for inode, want := range map[uint64]string{77: "42", 7: "", 78: ""} {
		if got := holder(locks, inode); got != want {
			t.Errorf("inode %d is held by %q, want %q", inode, got, want)
		}
	}
}

func TestMeminfo(t *testing.T) {
	text := "MemTotal:       24609292 kB\nMemAvailable:   20000000 kB\n"
	if got := meminfo(text, "MemAvailable"); got != 20000000 {
		t.Errorf("it reads %d", got)
	}
	if got := meminfo(text, "SwapFree"); got != 0 {
		t.Errorf("it reads %d of what is not there", got)
	}
}

// TestPort: an address that somebody has is no ruin, one that cannot be is.
func TestPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	busy := l.Addr().String()
	for name, c := range map[string]struct {
		d    doctor
		want string
	}{
		"free":         {doctor{Options: Options{Listen: "127.0.0.1:0"}}, OK},
		"another's":    {doctor{Options: Options{Listen: busy}}, Warning},
		"the server's": {doctor{Options: Options{Listen: busy, URL: "http://" + busy}, served: true}, OK},
		"nowhere":      {doctor{Options: Options{Listen: "127.0.0.1:many"}}, Failed},
	} {
		if got := c.d.port(context.Background()); got.Status != c.want || got.Status == Warning && got.Fix == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The token is looked for in the file that was named, and nowhere else.
func TestToken(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"closed": 0o600, "open": 0o604} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, []byte("secret"), mode), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"closed": OK, "open": Warning, "absent": Warning} {
		d := doctor{Options: Options{TokenFile: filepath.Join(dir, name)}}
		got := d.token(context.Background())
		if got.Status != want || !strings.Contains(got.Detail, d.TokenFile) || want == Warning && got.Fix == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	d := doctor{Options: Options{DataDir: filepath.Join(dir, "a", "b"), TemplateDir: dir}}
	if got := existing(d.DataDir); got != dir {
		t.Errorf("%s exists of %s", got, d.DataDir)
	}
	if got := d.folder(context.Background()); got.Status != OK || !strings.Contains(got.Detail, "is not there yet") {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "host-1.copied"), []byte("3145728"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := d.template(context.Background()); got.Status != Warning || !strings.Contains(got.Detail, "3 MiB had to be copied") || got.Fix == "" {
		t.Errorf("%+v", got)
	}
}

// TestWithoutRoot: what is missing is said, and nothing is started. With a
// server at hand a person who is not root lacks nothing.
func TestWithoutRoot(t *testing.T) {
	for _, served := range []bool{false, true} {
		d := doctor{served: served}
		if got := d.root(context.Background()); got.Fix == "" || (got.Status == Failed) == served {
			t.Errorf("served %v: %+v", served, got)
		}
	}
	var seen []Check
	d := doctor{Options: Options{Report: func(c Check) { seen = append(seen, c) }}}
	if err := d.sandbox(context.Background()); err != nil || len(seen) != 1 || seen[0].Status != Skipped {
		t.Errorf("%+v, %v", seen, err)
	}
}
