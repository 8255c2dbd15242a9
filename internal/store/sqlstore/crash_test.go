package sqlstore

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/failpoint"
)

// TestPowerCut takes the files as a power cut would leave them, at moments of
// its own choosing while a child writes, and opens what is left.
func TestPowerCut(t *testing.T) {
	cuts := 24
	if testing.Short() {
		cuts = 6
	}
	folder := t.TempDir()
	c := startChild(t, folder)
	for i := range cuts {
		c.await(t, 1+mathrand.IntN(60))
		left := filepath.Join(t.TempDir(), fmt.Sprint("cut", i))
		c.stopped(t, func() { copyFolder(t, folder, left) })
		what := cutPower(t, left)
		if checkRounds(t, left); t.Failed() {
			t.Fatalf("after cut %d: %s", i, what)
		}
		if err := os.RemoveAll(left); err != nil {
			t.Fatal(err)
		}
	}
	c.kill(t)
	t.Logf("%d cuts, %d rounds", cuts, checkRounds(t, folder))
}

// TestKill kills the process at any moment and opens the same files again.
func TestKill(t *testing.T) {
	folder := t.TempDir()
	for range 5 {
		c := startChild(t, folder)
		c.await(t, 1+mathrand.IntN(100))
		c.kill(t)
		checkRounds(t, folder)
	}
}

// TestKillAtCommit kills the process at the two sides of a commit.
func TestKillAtCommit(t *testing.T) {
	for _, name := range []string{"store.commit", "store.committed"} {
		folder := t.TempDir()
		for range 3 {
			c := startChild(t, folder, fmt.Sprintf("%s=%s:%d", failpoint.Variable, name, 10+mathrand.IntN(30)))
			var exit interface{ Sys() any }
			if err := c.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("child: %v", err)
			}
			checkRounds(t, folder)
		}
	}
}

// kill ends the child without any chance to tidy up.
func (c child) kill(t *testing.T) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // says that it was killed
}

// stopped runs fn while no thread of the child runs.
func (c child) stopped(t *testing.T, fn func()) {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("stop child: %v, %v", status, err)
	}
	fn()
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// cutPower loses from a copy of the files what was not synced and says what it
// did. What is safe stands in the shared-memory index, which SQLite moves on
// only after syncing: the first mxFrame frames of the log, and in the database
// file every page but those of the frames that no checkpoint has put there yet.
// Anything else may be missing, torn, or noise. The index itself is memory.
func cutPower(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(folder, databaseName)
	index, err := os.ReadFile(path + "-shm")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + "-shm"); err != nil {
		t.Fatal(err)
	}
	pageSize := int(binary.NativeEndian.Uint16(index[14:]))
	synced := int(binary.NativeEndian.Uint32(index[16:]))
	backfilled := int(binary.NativeEndian.Uint32(index[96:]))
	const header, frameHeader = 32, 24
	safe := 0
	if synced > 0 {
		safe = header + synced*(frameHeader+pageSize)
		tearPages(t, path, pageSize, log[header+backfilled*(frameHeader+pageSize):safe], frameHeader)
	}
	what := fmt.Sprintf("%d frames synced, %d backfilled, log of %d bytes, safe %d", synced, backfilled, len(log), safe)
	keep := safe + mathrand.IntN(len(log)-safe+1)
	tail := make([]byte, mathrand.IntN(2*pageSize)+len(log)-keep)
	switch mathrand.IntN(4) {
	case 0:
		what, tail = fmt.Sprintf("%s; truncated to %d", what, keep), nil
	case 1:
		what = fmt.Sprintf("%s; zeros from %d", what, keep)
	case 2:
		what = fmt.Sprintf("%s; noise from %d", what, keep)
		_, _ = rand.Read(tail)
	case 3:
		what, tail, keep = what+"; all of it kept", nil, len(log)
	}
	if err := os.WriteFile(path+"-wal", append(log[:keep:keep], tail...), 0o600); err != nil {
		t.Fatal(err)
	}
	return what
}

// tearPages overwrites with noise some of the pages that frames of the log hold
// anew: a checkpoint may have been writing them. Page 1 stays: its first bytes
// name the page size, and a disk writes them as one sector.
func tearPages(t *testing.T, path string, pageSize int, frames []byte, frameHeader int) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // the test reads it again
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, pageSize)
	_, _ = rand.Read(noise)
	for ; len(frames) > 0; frames = frames[frameHeader+pageSize:] {
		page := int64(binary.BigEndian.Uint32(frames))
		at := (page - 1) * int64(pageSize)
		if page == 1 || at >= info.Size() || mathrand.IntN(2) == 0 {
			continue
		}
		if _, err := file.WriteAt(noise[:mathrand.IntN(pageSize)], at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUpdateIsOnTheDisk asks the kernel: after an Update no page of the log
// waits to be written.
func TestUpdateIsOnTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), databaseName)
	s := open(t, path)
	wal, err := os.Open(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	defer wal.Close() //nolint:errcheck // only looked at
	if onTmpfs(t, wal) {
		t.Skip("the temporary folder is in memory")
	}
	for i := range 20 {
		ensureSession(t.Context(), s, fmt.Sprint("s", i))
		var pages unix.Cachestat_t
		err := unix.Cachestat(uint(wal.Fd()), &unix.CachestatRange{}, &pages, 0)
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, fs.ErrPermission) {
			t.Skip("this kernel has no cachestat")
		}
		if err != nil {
			t.Fatal(err)
		}
		if pages.Cache == 0 || pages.Dirty+pages.Writeback > 0 {
			t.Fatalf("after update %d: %d pages of the log in memory, %d dirty, %d being written", i, pages.Cache, pages.Dirty, pages.Writeback)
		}
	}
}

func onTmpfs(t *testing.T, file *os.File) bool {
	t.Helper()
	var where unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &where); err != nil {
		t.Fatal(err)
	}
	return where.Type == unix.TMPFS_MAGIC
}
