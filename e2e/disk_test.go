package e2e

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"paddock/e2e/host"
)

// written gives how many bytes of the host's disk a sandbox's files use.
func (s *server) written(sandbox string) int64 {
	return host.Held(sandbox, filepath.Join(s.dir, "sandboxes", sandbox)+"/upper")
}

// A machine that writes without end meets the end of its own disk, not of the
// host's; everything goes on, and what is removed can be used again.
func TestDiskQuota(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	var sizes struct {
		Sizes []struct {
			Slug   string
			DiskMB int64 `json:"disk_mb"`
		}
	}
	s.call(http.MethodGet, "/sessions/sandbox/sizes", nil, http.StatusOK, &sizes)
	quota := sizes.Sizes[0].DiskMB << 20
	if quota < 1<<30 {
		t.Fatalf("the disk of size %s has %d bytes", sizes.Sizes[0].Slug, quota)
	}
	sess := s.create("agent: none\nsize: " + sizes.Sizes[0].Slug + "\n")
	id := sess.SessionID
	df := func(column string) int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(s.sh(id, "df -B1 --output="+column+" /workspace | tail -1")), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := df("size"); got != quota {
		t.Errorf("df shows a disk of %d bytes, want %d", got, quota)
	}

	// Most of it by reservation, which takes no time; the end by writing.
	const rest = 64 << 20
	s.sh(id, "fallocate -l "+strconv.FormatInt(df("avail")-rest, 10)+" most")
	for _, user := range []string{"agent", "root"} {
		r, _ := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", "cat /dev/zero > rest-" + user}, "user": user})
		if r.ExitCode == 0 || !strings.Contains(r.Stderr, "No space left on device") {
			t.Errorf("%s fills the disk: %+v", user, r)
		}
	}
	if used := s.written(sess.SandboxID); used < quota-rest || used > quota+quota/100 {
		t.Errorf("%d bytes of the host's disk are used, the quota is %d", used, quota)
	}

	// Nothing of ours needs room.
	if got := df("avail"); got != 0 {
		t.Errorf("%d bytes are free", got)
	}
	if _, err := s.client().HostedAgents.PauseSession(context.Background(), id); err != nil {
		t.Errorf("pause: %v", err)
	}
	if out := s.sh(id, "ls most && mkdir folder && mv most folder && ls"); !strings.Contains(out, "folder") {
		t.Errorf("work on the full disk: %q", out)
	}

	s.sh(id, "rm -r folder rest-agent && echo again > file && cat file")
	eventually(t, "the host has its room back", func() bool { return s.written(sess.SandboxID) < 2*rest })

	s.sh(id, "fallocate -l "+strconv.FormatInt(df("avail"), 10)+" all") // removed with its disk full
}

// Files in memory are bounded: they cannot take all of it.
func TestFilesInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: none\nsize: small\n").SessionID
	total := strings.TrimSpace(s.sh(id, "free -b | awk '/^Mem:/ {print $2 / 2}'"))
	for _, dir := range []string{"/dev/shm", "/dev"} {
		if got := strings.TrimSpace(s.sh(id, "df -B1 --output=size "+dir+" | tail -1")); got != total {
			t.Errorf("%s has %s bytes, want half of the memory, %s", dir, got, total)
		}
	}
	if code, _, errs := s.exec(id, "sh", "-c", "cat /dev/zero > /dev/shm/fill"); code == 0 || !strings.Contains(errs, "No space left on device") {
		t.Errorf("fill /dev/shm: %d %s", code, errs)
	}
	s.sh(id, "rm /dev/shm/fill")
}
