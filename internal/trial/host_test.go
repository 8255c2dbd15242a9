package trial

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// busy starts a shell whose command line holds a unique word and whose child,
// which does not show it, burns CPU.
func busy(t *testing.T) string {
	t.Helper()
	word := "word-" + filepath.Base(t.TempDir()) + "-" + t.Name()
	cmd := exec.Command("/bin/sh", "-c", "exec 3<&0; (exec /bin/sh -c 'echo up; while :; do :; done') & read line <&3; kill $!", word)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the shell said nothing")
	}
	return word
}

func TestProcessesAreFoundWithDescendants(t *testing.T) {
	word := busy(t)
	list, err := ThisHost().Naming(word)
	if err != nil || len(list) != 2 {
		t.Fatalf("found %+v, %v; want the shell and its child", list, err)
	}
	if list[1].parent != list[0].pid && list[0].parent != list[1].pid {
		t.Errorf("not parent and child: %+v", list)
	}
}

func TestCPUOfBusyProcessGrows(t *testing.T) {
	word := busy(t)
	first, err := ThisHost().CPU(word)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		if now, err := ThisHost().CPU(word); err != nil {
			t.Fatal(err)
		} else if now >= first+5*tick {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no CPU was seen")
		}
	}
}

func TestNothingIsLeftOfANameNobodyUses(t *testing.T) {
	if s, err := ThisHost().Left("no-process-has-" + t.Name()); err != nil || s != "" {
		t.Fatalf("%q, %v", s, err)
	}
}

func TestLeftNamesProcessesAndMounts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"41/stat": "41 (a ) b) S 1 41 41 0 -1 0 0 0 0 0 7 3 0 0 20 0 1 0 5", "41/cmdline": "runsc\x00--root=/x/demo-1",
		"42/stat": "42 (c) S 41 41 41 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 5", "42/cmdline": "",
		"43/stat": "43 (d) Z 41 41 41 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 5", "43/cmdline": "",
		"self/mountinfo": "36 35 98:0 / /x/demo-1/null-netns rw - nsfs nsfs rw\n37 35 98:0 / /other rw - ext4 /dev/a rw\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := Host{proc: dir, cgroups: filepath.Join(dir, "cgroup")}
	if err := os.MkdirAll(filepath.Join(h.cgroups, "paddock", "x", "demo-1", "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := "left on the host: processes [41 42], mounts [/x/demo-1/null-netns], control groups [" +
		filepath.Join(h.cgroups, "paddock/x/demo-1/inner") + " " + filepath.Join(h.cgroups, "paddock/x/demo-1") + "]"
	if got, err := h.Left("/x/demo-1"); err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := h.CPU("/x/demo-1"); err != nil || got != 11*tick {
		t.Errorf("cpu %v, %v", got, err)
	}
}
