package gvisor

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// written gives how many bytes on disk the machine's writable layer has: that of
// a file without a name, which its kernel holds open; see plan.overlay. 0 when
// it cannot be seen.
func (m *machine) written() int64 {
	if n, ok := m.layerSize(m.layer.Load()); ok {
		return n
	}
	folder := fmt.Sprintf("/proc/%d/fd", m.kernel.pid)
	open, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	for _, fd := range open {
		name := folder + "/" + fd.Name()
		if n, ok := m.layerSize(&name); ok {
			m.layer.Store(&name)
			return n
		}
	}
	return 0
}

// layerSize gives the size of the writable layer if that is what fd, the link to
// an open file, leads to.
func (m *machine) layerSize(fd *string) (int64, bool) {
	if fd == nil {
		return 0, false
	}
	target, err := os.Readlink(*fd)
	if err != nil || !strings.HasPrefix(target, m.folder.upper()+"/") {
		return 0, false
	}
	var st unix.Stat_t
	if err := unix.Stat(*fd, &st); err != nil {
		return 0, false
	}
	const block = 512 // the unit of st_blocks, whatever the file system's is
	return st.Blocks * block, true
}
