package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// existing is the nearest folder at or above path that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == "/" {
			return path
		}
		path = filepath.Dir(path)
	}
}

func (d *doctor) disk(context.Context) Check {
	var said []string
	worst := uint64(1 << 63)
	for _, dir := range []string{d.DataDir, d.TemplateDir} {
		at := existing(dir)
		var s unix.Statfs_t
		if err := unix.Statfs(at, &s); err != nil {
			return warning("", "%s: %v", at, err)
		}
		free := s.Bavail * uint64(s.Bsize)
		worst = min(worst, free)
		said = append(said, fmt.Sprintf("%.1f GiB free at %s", float64(free)/(1<<30), dir))
	}
	text := strings.Join(said, ", ")
	const fix = "make room, or name other folders with --data-dir and --template-dir"
	switch {
	case worst < 1<<30:
		return failed(fix, "%s", text)
	case worst < 5<<30:
		return warning(fix, "%s", text)
	}
	return ok("%s", text)
}

// template says whether the view of this host that sandboxes get is built, and
// whether it shares its files with /usr.
func (d *doctor) template(context.Context) Check {
	built, _ := filepath.Glob(filepath.Join(d.TemplateDir, "host-*.copied")) // the pattern is right
	if len(built) == 0 {
		if d.Root {
			how := "its files will be links to this host's own"
			if !sameDisk("/usr", existing(d.TemplateDir)) {
				how = "its files will be copied: " + d.TemplateDir + " is on another file system than /usr"
			}
			return ok("not built yet, the first server takes some seconds for it; %s", how)
		}
		return skipped("cannot be seen without root, or is not built yet")
	}
	var copied int64
	for _, name := range built {
		b, _ := os.ReadFile(name)
		n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		copied = max(copied, n)
	}
	if copied > 0 {
		return warning("put --template-dir on the file system of /usr", "built in %s; %d MiB had to be copied", d.TemplateDir, copied>>20)
	}
	return ok("built in %s; its files are links to this host's own", d.TemplateDir)
}

// sameDisk says whether two paths are on one file system.
func sameDisk(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev
}

// folder says who uses the data folder.
func (d *doctor) folder(context.Context) Check {
	lock := filepath.Join(d.DataDir, "lock")
	var s unix.Stat_t
	err := unix.Stat(lock, &s)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ok("%s is not there yet", d.DataDir)
	case errors.Is(err, fs.ErrPermission):
		return skipped("%s cannot be seen without root", d.DataDir)
	case err != nil:
		return failed("mend the folder's rights", "%v", err)
	}
	// To try the lock could refuse a server that starts just now.
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return warning("mount /proc", "%v", err)
	}
	if pid := holder(string(locks), s.Ino); pid != "" {
		return ok("%s is used by the server with pid %s", d.DataDir, pid)
	}
	return ok("%s is used by no server now", d.DataDir)
}

// holder finds in /proc/locks who has locked the file with this inode.
func holder(locks string, inode uint64) (pid string) {
	for line := range strings.Lines(locks) {
		// 1: FLOCK ADVISORY WRITE pid major:minor:inode start end
		f := strings.Fields(line)
		if len(f) >= 6 && f[1] == "FLOCK" && strings.HasSuffix(f[5], ":"+strconv.FormatUint(inode, 10)) {
			return f[4]
		}
	}
	return ""
}
