package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
)

// item is one entry of a tar that a test makes.
type item struct {
	name    string
	kind    byte // tar.TypeReg where it is zero
	content string
	link    string
	mode    int64 // 0644, of folders 0755, where it is zero
	uid     int
	attrs   map[string]string
	size    int64 // says another size than the content has
}

func dir(name string) item           { return item{name: name, kind: tar.TypeDir} }
func file(name, content string) item { return item{name: name, content: content} }
func symlink(name, to string) item   { return item{name: name, kind: tar.TypeSymlink, link: to} }
func hardlink(name, to string) item  { return item{name: name, kind: tar.TypeLink, link: to} }

var epoch = time.Unix(1_000_000_000, 0)

func tarOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Typeflag: i.kind, Linkname: i.link, Mode: i.mode, Uid: i.uid, Gid: i.uid, ModTime: epoch, Size: int64(len(i.content))}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			if h.Mode = 0o644; i.kind == tar.TypeDir {
				h.Mode = 0o755
			}
		}
		if len(i.attrs) > 0 {
			h.PAXRecords = map[string]string{}
			for name, value := range i.attrs {
				h.PAXRecords[attributeRecord+name] = value
			}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(i.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var testLimits = Limits{Bytes: 16 << 20, Entries: 1000}

// unpack unpacks layers into a new folder, beside which lies what nothing may
// touch.
func unpack(t *testing.T, layers ...[]byte) (root string, u *unpacker, err error) {
	t.Helper()
	top := t.TempDir()
	root = filepath.Join(top, "root")
	for _, name := range []string{root, filepath.Join(top, "outside")} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "outside", "canary"), []byte("alive"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		text, _ := os.ReadFile(filepath.Join(top, "outside", "canary"))
		names, _ := os.ReadDir(top)
		below, _ := os.ReadDir(filepath.Join(top, "outside"))
		if string(text) != "alive" || len(names) != 2 || len(below) != 1 {
			t.Errorf("something was written outside: canary %q, beside the root %v, outside %v", text, names, below)
		}
	})
	jail, err := openJail(root)
	if err != nil {
		t.Fatal(err)
	}
	defer jail.close()
	u = newUnpacker(context.Background(), jail, testLimits, func(string) {})
	for _, l := range layers {
		if err := u.layer(bytes.NewReader(l)); err != nil {
			return root, u, err
		}
	}
	u.settle()
	return root, u, nil
}

// tree is what a folder has, a line for each entry.
func tree(t *testing.T, root string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		switch {
		case d.IsDir():
			name += "/"
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			name += "→" + to
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name += "=" + string(text)
		default:
			name += "?" + d.Type().String()
		}
		lines = append(lines, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestLayers(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers [][]item
		want   string // lines, with spaces between
	}{
		{"kinds", [][]item{{dir("a"), file("a/f", "x"), symlink("a/s", "../b"), hardlink("h", "a/f"), {name: "p", kind: tar.TypeFifo}}}, "a/ a/f=x a/s→../b h=x p?p---------"},
		{"folders that are missing", [][]item{{file("a/b/c", "x")}}, "a/ a/b/ a/b/c=x"},
		{"names of all forms", [][]item{{dir("./"), file("./a", "1"), file("/b", "2"), file("c//d", "3"), file("c/./e", "4")}}, "a=1 b=2 c/ c/d=3 c/e=4"},
		{"twice in a layer", [][]item{{file("a", "old"), file("a", "new")}}, "a=new"},
		{"a later layer", [][]item{{file("a", "old"), file("b", "b")}, {file("a", "new")}}, "a=new b=b"},
		{"folders stay", [][]item{{dir("d"), file("d/a", "a")}, {dir("d"), file("d/b", "b")}}, "d/ d/a=a d/b=b"},
		{"a file for a folder", [][]item{{file("d/a", "a")}, {file("d", "x")}}, "d=x"},
		{"a folder for a file", [][]item{{file("d", "x")}, {dir("d"), file("d/a", "a")}}, "d/ d/a=a"},
		{"a folder for a link", [][]item{{dir("e"), file("e/x", "x"), symlink("d", "e")}, {dir("d"), file("d/a", "a")}}, "d/ d/a=a e/ e/x=x"},
		{"a link for a folder", [][]item{{file("d/a", "a")}, {symlink("d", "/e")}}, "d→/e"},
		{"through a link", [][]item{{dir("e"), symlink("d", "/e")}, {file("d/a", "a")}}, "d→/e e/ e/a=a"},
		{"through a link to what is not there", [][]item{{symlink("var/run", "/run"), file("var/run/x", "x")}}, "run/ run/x=x var/ var/run→/run"},

		{"whiteout", [][]item{{file("a", "a"), file("b", "b")}, {file(".wh.a", "")}}, "b=b"},
		{"whiteout of a folder", [][]item{{file("d/e/a", "a"), file("b", "b")}, {file(".wh.d", "")}}, "b=b"},
		{"whiteout of what is not there", [][]item{{file("b", "b")}, {file(".wh.a", ""), file("x/.wh.y", "")}}, "b=b"},
		{"whiteout, then anew", [][]item{{file("d/a", "a")}, {file(".wh.d", ""), file("d/b", "b")}}, "d/ d/b=b"},
		{"anew, then whiteout", [][]item{{file("d/a", "a")}, {file("d/b", "b"), file(".wh.d", "")}}, "d/ d/b=b"},
		{"whiteout in the same layer", [][]item{{file("a", "a"), file(".wh.a", "")}}, "a=a"},
		{"whiteout, then whole again", [][]item{{file("a", "1")}, {file(".wh.a", "")}, {file("a", "3")}}, "a=3"},
		{"whiteout below a link", [][]item{{file("e/a", "a"), symlink("d", "e")}, {file("d/.wh.a", "")}}, "d→e e/"},
		{"opaque", [][]item{{file("d/a", "a"), file("d/e/b", "b")}, {dir("d"), file("d/.wh..wh..opq", ""), file("d/c", "c")}}, "d/ d/c=c"},
		{"opaque at the end", [][]item{{file("d/a", "a"), file("d/e/b", "b")}, {file("d/e/c", "c"), file("d/.wh..wh..opq", "")}}, "d/ d/e/ d/e/c=c"},
		{"opaque root", [][]item{{file("a", "a"), file("d/b", "b")}, {file(".wh..wh..opq", ""), file("c", "c")}}, "c=c"},
		{"what aufs keeps", [][]item{{file("a", "a")}, {file(".wh..wh.plnk", ""), file(".wh..wh.aufs", "")}}, "a=a"},

		{"hard link over layers", [][]item{{file("a", "a")}, {hardlink("b", "a")}}, "a=a b=a"},
		{"the other name of one that is replaced", [][]item{{file("a", "a"), hardlink("b", "a")}, {file("a", "new")}}, "a=new b=a"},
		{"hard link in the place of a file", [][]item{{file("a", "a"), file("b", "b")}, {hardlink("b", "/a")}}, "a=a b=a"},
		{"hard link to itself", [][]item{{file("a", "a"), hardlink("a", "a")}}, "a=a"},
		{"hard link to a link", [][]item{{symlink("a", "x"), hardlink("b", "a")}}, "a→x b→x"},

		{"devices of /dev", [][]item{{{name: "dev/null", kind: tar.TypeChar}, {name: "dev/mapper/x", kind: tar.TypeBlock}}}, "dev/ dev/mapper/"},
		{"a link that leads out stays a link", [][]item{{symlink("a", "/../../outside/canary"), symlink("b", "../../outside")}}, "a→/../../outside/canary b→../../outside"},
		{"writing through one stays inside", [][]item{{symlink("a", "../../outside"), file("a/new", "x")}}, "a→../../outside outside/ outside/new=x"},
		{"a link in the place of a file that is written", [][]item{{symlink("a", "../outside/canary"), file("a", "x")}}, "a=x"},
		{"removing through one stays inside", [][]item{{symlink("a", "../outside")}, {file("a/.wh.canary", "")}}, "a→../outside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var layers [][]byte
			for _, l := range c.layers {
				layers = append(layers, tarOf(t, l...))
			}
			root, _, err := unpack(t, layers...)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(tree(t, root), " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Devices of /dev are left out, which is said once.
func TestDevicesThatAreLeftOutAreNamed(t *testing.T) {
	null, disk := item{name: "dev/null", kind: tar.TypeChar}, item{name: "dev/mapper/x", kind: tar.TypeBlock}
	for _, c := range []struct {
		items []item
		want  string
	}{
		{[]item{file("dev/x", "")}, ""},
		{[]item{null}, "the device /dev/null is left out: every sandbox has a /dev of its own"},
		{[]item{disk, null, null}, "the device /dev/mapper/x and 2 more in /dev are left out: every sandbox has a /dev of its own"},
	} {
		_, u, err := unpack(t, tarOf(t, c.items...))
		if err != nil {
			t.Fatal(err)
		}
		u.chown = true // what else is warned of
		if got := strings.Join(u.warnings(), "; "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", 256)
	many := make([]item, testLimits.Entries+1)
	for i := range many {
		many[i] = file(fmt.Sprint("f", i), "")
	}
	for _, c := range []struct {
		name  string
		items []item
		want  string
	}{
		{"out by name", []item{file("../outside/x", "x")}, `"../outside/x" that has .. in its name`},
		{"out by name, in the middle", []item{file("a/../../outside/x", "x")}, "has .. in its name"},
		{"out by hard link", []item{hardlink("a", "../outside/canary")}, "has .. in its name"},
		{"out by hard link through a link", []item{symlink("l", "../outside"), hardlink("a", "l/canary")}, `"a" that is a hard link to "l/canary", which is no file of the image`},
		{"hard link to nothing", []item{hardlink("a", "b")}, "no file of the image"},
		{"hard link to a folder", []item{dir("d"), hardlink("a", "d")}, "no file of the image"},
		{"hard link to the root", []item{hardlink("a", "/")}, "no file of the image"},
		{"a device", []item{{name: "a/null", kind: tar.TypeChar}}, `"a/null" that is a device`},
		{"a disk", []item{{name: "sda", kind: tar.TypeBlock}}, `"sda" that is a device`},
		{"a device beside /dev by a link", []item{dir("x"), symlink("dev", "x"), {name: "dev/sda", kind: tar.TypeBlock}}, `"dev/sda" that is a device`},
		{"a file for the root", []item{file(".", "x")}, "takes the place of /"},
		{"a whiteout of ..", []item{file("d/.wh...", "")}, "whiteout of nothing"},
		{"a whiteout of no name", []item{file("d/.wh.", "")}, "whiteout of nothing"},
		{"a long name", []item{file("a/"+long, "")}, "more than 255 bytes"},
		{"a deep name", []item{file(strings.Repeat("a/", 600)+"x", "")}, "folders deep"},
		{"a file as a folder", []item{file("a", ""), file("a/b", "")}, `"a/b" cannot be unpacked`},
		{"links in a circle", []item{symlink("a", "b"), symlink("b", "a"), file("a/x", "")}, `"a/x" cannot be unpacked`},
		{"a link to nothing", []item{symlink("a", "")}, "link to nothing"},
		{"a kind nobody knows", []item{{name: "a", kind: 'Z'}}, "of a kind"},
		{"too many", many, "more than 1000 entries"},
		{"too much", []item{file("a", strings.Repeat("x", int(testLimits.Bytes)+1))}, "larger than 16 MiB"},
		{"too much together", []item{file("a", strings.Repeat("x", 9<<20)), file("b", strings.Repeat("x", 9<<20))}, "larger than 16 MiB"},
		{"too large an attribute", []item{{name: "a", attrs: map[string]string{"user.x": strings.Repeat("x", maxAttribute+1)}}}, "attribute"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := unpack(t, tarOf(t, c.items...))
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.BadRequest || !strings.Contains(f.Message, c.want) {
				t.Errorf("got %v, want a bad request with %q", err, c.want)
			}
		})
	}
}

// TestBomb: what is said of a file's size is believed before it is written.
func TestBomb(t *testing.T) {
	// An old GNU sparse file of 1 TiB that has no data at all.
	block := make([]byte, 512)
	copy(block, "bomb")
	copy(block[100:], "0000644\x00")
	copy(block[108:], "0000000\x00")
	copy(block[116:], "0000000\x00")
	copy(block[124:], "00000000000\x00")
	copy(block[136:], "00000000000\x00")
	block[156] = tar.TypeGNUSparse
	copy(block[257:], "ustar  \x00")
	copy(block[483:], "\x80\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00") // its real size
	copy(block[148:], "        ")
	sum := 0
	for _, b := range block {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	_, _, err := unpack(t, append(block, make([]byte, 1024)...))
	if !fault.Is(err, fault.BadRequest) || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("a file of 1 TiB without data: %v", err)
	}
}

func TestCutArchive(t *testing.T) {
	whole := tarOf(t, file("a", strings.Repeat("x", 100_000)), file("b", "b"))
	for _, n := range []int{300, 700, 50_000, len(whole) - 2040} {
		if _, _, err := unpack(t, whole[:n]); !fault.Is(err, fault.BadRequest) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}

// capNetRaw is a security.capability of cap_net_raw=ep.
const capNetRaw = "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func TestAttributes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to others")
	}
	root, u, err := unpack(t, tarOf(t,
		item{name: "su", mode: 0o4755, uid: 0, content: "su"},
		item{name: "wall", mode: 0o2755, uid: 5, content: "wall"},
		item{name: "tmp", kind: tar.TypeDir, mode: 0o1777, uid: 7},
		item{name: "ping", mode: 0o755, content: "ping", attrs: map[string]string{
			capability: capNetRaw, "user.note": "n", "trusted.overlay.opaque": "y", "security.selinux": "s"}},
		item{name: "link", kind: tar.TypeSymlink, link: "su", uid: 9},
		item{name: "d", kind: tar.TypeDir}, item{name: "d/inside", content: "x"},
	))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		mode fs.FileMode
		uid  uint32
	}{
		"su": {0o755 | fs.ModeSetuid, 0}, "wall": {0o755 | fs.ModeSetgid, 5}, "tmp": {0o777 | fs.ModeSticky | fs.ModeDir, 7}, "link": {0o777 | fs.ModeSymlink, 9}, "ping": {0o755, 0},
	} {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		var s unix.Stat_t
		if err := unix.Lstat(filepath.Join(root, name), &s); err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want.mode || s.Uid != want.uid || s.Gid != want.uid {
			t.Errorf("%s: %s of %d:%d, want %s of %d", name, info.Mode(), s.Uid, s.Gid, want.mode, want.uid)
		}
		if !info.ModTime().Equal(epoch) {
			t.Errorf("%s: of %s", name, info.ModTime())
		}
	}
	if info, _ := os.Lstat(filepath.Join(root, "d")); !info.ModTime().Equal(epoch) {
		t.Errorf("a folder that was filled is of %s", info.ModTime())
	}
	buffer := make([]byte, 100)
	for name, want := range map[string]string{capability: capNetRaw, "user.note": "n", "trusted.overlay.opaque": "", "security.selinux": ""} {
		n, err := unix.Getxattr(filepath.Join(root, "ping"), name, buffer)
		if u.lost[name] > 0 {
			t.Logf("%s: cannot be set here", name)
		} else if got := string(buffer[:max(n, 0)]); got != want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, want)
		}
	}
}

// TestHoles: zeroes take no room, and are zeroes all the same.
func TestHoles(t *testing.T) {
	content := strings.Repeat("\x00", 5<<20) + "middle" + strings.Repeat("\x00", 3<<20)
	root, u, err := unpack(t, tarOf(t, file("a", content), file("zero", strings.Repeat("\x00", 10000))))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "a"))
	if err != nil || string(got) != content {
		t.Errorf("the file has %d bytes and another content (%v)", len(got), err)
	}
	var s unix.Stat_t
	if err := unix.Stat(filepath.Join(root, "a"), &s); err != nil || s.Blocks*512 > 1<<20 {
		t.Errorf("it takes %d bytes on the disk (%v)", s.Blocks*512, err)
	}
	if info, err := os.Stat(filepath.Join(root, "zero")); err != nil || info.Size() != 10000 {
		t.Errorf("a file of zeroes alone has %v bytes (%v)", info, err)
	}
	if u.bytes != int64(len(content))+10000 {
		t.Errorf("counted %d bytes", u.bytes)
	}
}

func TestFurnish(t *testing.T) {
	for _, c := range []struct {
		name  string
		items []item
		has   []string
	}{
		{"nothing", nil, []string{"tmp/.X11-unix/", "workspace/", "run/paddock/", "opt/paddock/agents/", "etc/machine-id→/run/paddock/machine-id",
			"etc/passwd=root:x:0:0:root:/root:/sbin/nologin\nagent:x:1000:1000::/home/agent:/sbin/nologin\n", "etc/group=root:x:0:\nagent:x:1000:\n", "etc/resolv.conf=nameserver 10.0.2.2\n"}},
		{"users of its own", []item{file("bin/sh", ""), file("etc/passwd", "root:x:0:0:root:/root:/bin/ash\nnode:x:1000:1000::/home/node:/bin/sh\nagent:x:7:7::/:/bin/sh\n")},
			[]string{"etc/passwd=root:x:0:0:root:/root:/bin/ash\nagent:x:1000:1000::/home/agent:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n"}},
		{"links in the way", []item{symlink("run", "/../../outside"), symlink("etc/passwd", "../../../outside/canary"), symlink("etc/resolv.conf", "/run/x"), symlink("home", "nowhere"), file("workspace", "x"), symlink("tmp", "var/tmp")},
			[]string{"outside/paddock/", "workspace/", "nowhere/agent/", "etc/resolv.conf=nameserver 10.0.2.2\n", "tmp→var/tmp", "var/tmp/.X11-unix/"}},
		{"links in a circle", []item{symlink("run", "run"), symlink("workspace", "workspace")}, []string{"run/paddock/", "workspace/"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, u, err := unpack(t, tarOf(t, c.items...))
			if err != nil {
				t.Fatal(err)
			}
			if u.jail, err = openJail(root); err != nil {
				t.Fatal(err)
			}
			defer u.jail.close()
			if err := u.furnish(); err != nil {
				t.Fatal(err)
			}
			got := tree(t, root)
			for _, line := range c.has {
				if !slices.Contains(got, line) {
					t.Errorf("lacks %q; it has %q", line, got)
				}
			}
		})
	}
}
