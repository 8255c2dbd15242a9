package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/e2e/host"
)

// insides searches all that a sandbox holds for texts, from outside: the memory
// of its kernel, in which is that of every process and every file that was read,
// and the files that were written in it. It says how often each was found.
func insides(t *testing.T, sandbox string, texts ...string) map[string]int {
	t.Helper()
	found := map[string]int{}
	pids := host.Tree(host.Processes(sandbox)...)
	if len(pids) == 0 {
		t.Fatalf("no host process names sandbox %s", sandbox)
	}
	type file struct{ device, inode uint64 }
	done := map[file]bool{}
	for _, pid := range pids {
		folder := fmt.Sprintf("/proc/%d/fd", pid)
		entries, _ := os.ReadDir(folder) // it may have ended
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			var info unix.Stat_t
			if unix.Stat(path, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFREG || done[file{info.Dev, info.Ino}] {
				continue
			}
			// Files of its own: memory and those that have no name (any more).
			if target, err := os.Readlink(path); err != nil || !strings.Contains(target, "(deleted)") {
				continue
			}
			done[file{info.Dev, info.Ino}] = true
			searchFile(path, found, texts)
		}
		searchMemory(pid, found, texts)
	}
	return found
}

// searchFile reads the parts of a file that were written.
func searchFile(path string, found map[string]int, texts []string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	for at := int64(0); ; {
		begin, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if err != nil {
			return
		}
		end, err := unix.Seek(int(f.Fd()), begin, unix.SEEK_HOLE)
		if err != nil {
			return
		}
		search(io.NewSectionReader(f, begin, end-begin), found, texts)
		at = end
	}
}

// searchMemory reads a process's own memory: what it shares is in files.
func searchMemory(pid int, found map[string]int, texts []string) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return
	}
	defer maps.Close()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return
	}
	defer memory.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var begin, end uint64
		var mode, rest string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %s", &begin, &end, &mode, &rest); n < 3 || mode[:2] != "rw" || mode[3] != 'p' || end-begin > 4<<30 {
			continue
		}
		search(io.NewSectionReader(memory, int64(begin), int64(end-begin)), found, texts)
	}
}

// search counts texts, over the borders of what is read at once.
func search(r io.Reader, found map[string]int, texts []string) {
	longest := 0
	for _, text := range texts {
		longest = max(longest, len(text))
	}
	b := make([]byte, 4<<20)
	kept := 0
	for {
		n, err := r.Read(b[kept:])
		data := b[:kept+n]
		for _, text := range texts {
			for rest := data; ; {
				at := bytes.Index(rest, []byte(text))
				if at < 0 {
					break
				}
				if len(data)-len(rest)+at+len(text) > kept { // else it was counted
					found[text]++
				}
				rest = rest[at+len(text):]
			}
		}
		if err != nil {
			return
		}
		kept = copy(b, data[max(0, len(data)-longest+1):])
	}
}
