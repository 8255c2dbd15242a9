package template

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// removeOld removes farms that nobody uses any more, and what killed servers
// have left half built. The caller holds the folder's lock. A farm that cannot
// be removed is left for the next time.
func (t *Templates) removeOld(current string) {
	names, err := os.ReadDir(t.dir)
	if err != nil {
		return
	}
	for _, entry := range names {
		name := entry.Name()
		path := filepath.Join(t.dir, name)
		switch {
		case !entry.IsDir() || name == current:
		case strings.HasPrefix(name, "building-"):
			os.RemoveAll(path) // who builds holds the lock, and that is us
		case strings.HasPrefix(name, Host+"-"):
			t.removeFarm(path)
		}
	}
}

func (t *Templates) removeFarm(path string) {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return
	}
	defer lock.Close()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return // a server uses it
	}
	if mounted(path) {
		return // a machine uses it
	}
	// Never half a farm under a farm's name.
	doomed := filepath.Join(t.dir, "building-removed-"+filepath.Base(path))
	if os.Rename(path, doomed) != nil || os.RemoveAll(doomed) != nil {
		return
	}
	os.Remove(path + ".copied")
	os.Remove(path + ".lock")
	t.logger.Info("template removed", "template", filepath.Base(path))
}

// mounted says whether any process of this host, in whatever mount namespace,
// has the folder, or what is below it, mounted: as the gofer of each machine
// has its root.
func mounted(folder string) bool {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	for _, process := range processes {
		if _, err := strconv.Atoi(process.Name()); err != nil {
			continue
		}
		table, err := os.ReadFile(filepath.Join("/proc", process.Name(), "mountinfo"))
		if err != nil {
			continue // it ended, or is a kernel thread
		}
		for line := range strings.Lines(string(table)) {
			// "id parent major:minor root mountpoint …"; root is the folder's
			// path within its own file system.
			fields := strings.Fields(line)
			if len(fields) > 4 && (strings.HasSuffix(folder, fields[3]) && fields[3] != "/" || fields[4] == folder) {
				return true
			}
		}
	}
	return false
}
