package gvisor

import (
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// Whoever asks sees what there was when he asked, however many ask at once.
func TestCensus(t *testing.T) {
	root := filepath.Join(t.TempDir(), "runsc")
	var c census
	for range 3 {
		cmd := exec.Command("/bin/sh", "-c", "read line", "sh", "--other", "--root="+root)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		want := []int{cmd.Process.Pid}
		var asking sync.WaitGroup
		for range 40 {
			asking.Go(func() {
				if got, err := c.pids(root); err != nil || !slices.Equal(got, want) {
					t.Errorf("found %v, %v; want %v", got, err, want)
				}
			})
		}
		asking.Wait()
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // read found no line
		if got, err := c.pids(root); err != nil || len(got) > 0 {
			t.Errorf("found %v, %v of a process that has ended", got, err)
		}
	}
}
