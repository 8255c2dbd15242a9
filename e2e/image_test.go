package e2e

import (
	"archive/tar"
	"bytes"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// buildTool builds the program that images of tests have, and nothing else: there
// is no shell in them.
func buildTool(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "./testdata/imagetool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program of images: %v\n%s", err, out)
	}
	tool, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// capNetRaw is the attribute that gives a program cap_net_raw.
const capNetRaw = "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

type tarEntry struct {
	tar.Header
	content string
}

func makeTar(t *testing.T, entries ...tarEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		e.Size = int64(len(e.content))
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rootTar is a root file system with what archives can have.
func rootTar(t *testing.T, tool []byte, motd string) []byte {
	return makeTar(t,
		tarEntry{Header: tar.Header{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755}},
		tarEntry{tar.Header{Name: "bin/tool", Mode: 0o755}, string(tool)},
		tarEntry{Header: tar.Header{Name: "bin/hard", Typeflag: tar.TypeLink, Linkname: "bin/tool"}},
		tarEntry{tar.Header{Name: "bin/su", Mode: 0o4755}, "setuid"},
		tarEntry{tar.Header{Name: "bin/wall", Mode: 0o2755, Gid: 5}, "setgid"},
		tarEntry{tar.Header{Name: "bin/ping", Mode: 0o755, PAXRecords: map[string]string{"SCHILY.xattr.security.capability": capNetRaw, "SCHILY.xattr.user.note": "n"}}, "caps"},
		tarEntry{tar.Header{Name: "etc/motd", Mode: 0o644, Uid: 7, Gid: 8}, motd},
		tarEntry{Header: tar.Header{Name: "etc/out", Typeflag: tar.TypeSymlink, Linkname: "/../../../../../../../etc/shadow"}},
		tarEntry{Header: tar.Header{Name: "dev/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
	)
}

// ociImage is that root as an image of two layers, the second of which takes away
// and replaces, with an environment of its own.
func ociImage(t *testing.T, tool []byte) v1.Image {
	t.Helper()
	img := empty.Image
	for _, layer := range [][]byte{rootTar(t, tool, "below"), makeTar(t,
		tarEntry{tar.Header{Name: "etc/motd", Mode: 0o644, Uid: 7, Gid: 8}, "hello"},
		tarEntry{Header: tar.Header{Name: "bin/.wh.hard", Mode: 0o644}},
	)} {
		img = addLayer(t, img, layer)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Env = []string{"PATH=/nowhere:/bin", "COLOUR=blue", "SHAPE=round", "HOME=/wrong"}
	config.Config.User, config.Config.WorkingDir, config.Config.Entrypoint = "7", "/nowhere", []string{"/nothing"}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

func addLayer(t *testing.T, img v1.Image, layer []byte) v1.Image {
	t.Helper()
	one, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil })
	if err == nil {
		img, err = mutate.AppendLayers(img, one)
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func writeLayout(t *testing.T, img v1.Image) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "layout")
	path, err := layout.Write(folder, empty.Index)
	if err == nil {
		err = path.AppendImage(img)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func writeDockerSave(t *testing.T, img v1.Image) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "saved.tar")
	tag, err := name.NewTag("example/tool:1")
	if err == nil {
		err = tarball.WriteToFile(path, tag, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func writeFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// unpackFolder makes a folder of a tar with the host's own tar.
func unpackFolder(t *testing.T, archive []byte) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "system")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tar", "-x", "-p", "--xattrs", "--xattrs-include=*", "--exclude=dev", "-C", folder)
	cmd.Stdin = bytes.NewReader(archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return folder
}

// loopbackRegistry is a registry of this host with one image, and its address.
func loopbackRegistry(t *testing.T, ref string, img v1.Image) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError))))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	pushImage(t, address+"/"+ref, img)
	return address
}

func pushImage(t *testing.T, ref string, img v1.Image) {
	t.Helper()
	to, err := name.ParseReference(ref)
	if err == nil {
		err = remote.Write(to, img)
	}
	if err != nil {
		t.Fatal(err)
	}
}
