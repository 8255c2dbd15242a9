package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"

	"paddock/internal/fault"
	"paddock/internal/sandbox"
)

func newImages(t *testing.T) *Images {
	t.Helper()
	s, err := New(Options{Dir: filepath.Join(t.TempDir(), "images"), Limits: testLimits, Transport: http.DefaultTransport, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// imageOf makes an image for a platform of layers.
func imageOf(t *testing.T, arch string, layers ...[]byte) v1.Image {
	t.Helper()
	img := empty.Image
	for _, l := range layers {
		one, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(l)), nil })
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, one); err != nil {
			t.Fatal(err)
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config.Env = []string{"PATH=/x:/bin", "GREETING=a=b", "=none", "alone"}
	config.Config.User, config.Config.WorkingDir, config.Config.Entrypoint = "nobody", "/nowhere", []string{"/nothing"}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

func twoLayers(t *testing.T) v1.Image {
	return imageOf(t, runtime.GOARCH, tarOf(t, dir("bin"), file("bin/tool", "old"), file("gone", "x")), tarOf(t, file("bin/tool", "new"), file(".wh.gone", "")))
}

// layoutTar is an OCI layout of images, as a tar of its folder.
func layoutTar(t *testing.T, images ...v1.Image) []byte {
	t.Helper()
	folder := t.TempDir()
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for _, img := range images {
		if err := path.AppendImage(img); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func dockerSave(t *testing.T, images ...v1.Image) []byte {
	t.Helper()
	tags := map[name.Tag]v1.Image{}
	for i, img := range images {
		tag, err := name.NewTag(fmt.Sprintf("example/image:%d", i))
		if err != nil {
			t.Fatal(err)
		}
		tags[tag] = img
	}
	var b bytes.Buffer
	if err := tarball.MultiWrite(tags, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t *testing.T, b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstded(t *testing.T, b []byte) []byte {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(b)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// serveRegistry is a registry on loopback.
func serveRegistry(t *testing.T, wrap func(http.Handler) http.Handler) (host string) {
	t.Helper()
	handler := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)))
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func push(t *testing.T, ref string, img v1.Image) {
	t.Helper()
	r, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(r, img); err != nil {
		t.Fatal(err)
	}
}

// folders are what is on the disk of images.
func folders(t *testing.T, s *Images) (names []string) {
	t.Helper()
	list, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		names = append(names, one.Name())
	}
	return names
}

func quietly(string) {}

// TestOneImageFromEverywhere: whatever way an image comes, it has one folder.
func TestOneImageFromEverywhere(t *testing.T) {
	s, img, ctx := newImages(t), twoLayers(t), context.Background()
	host := serveRegistry(t, nil)
	push(t, host+"/team/tool:1", img)
	hash, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]func() (sandbox.Image, error){
		"registry": func() (sandbox.Image, error) { return s.Pull(ctx, host+"/team/tool:1", quietly) },
		"layout":   func() (sandbox.Image, error) { return s.Import(ctx, bytes.NewReader(layoutTar(t, img)), quietly) },
		"twice":    func() (sandbox.Image, error) { return s.Import(ctx, bytes.NewReader(layoutTar(t, img, img)), quietly) },
		"save":     func() (sandbox.Image, error) { return s.Import(ctx, bytes.NewReader(dockerSave(t, img)), quietly) },
		"gzip": func() (sandbox.Image, error) {
			return s.Import(ctx, bytes.NewReader(gzipped(t, dockerSave(t, img))), quietly)
		},
		"zstd": func() (sandbox.Image, error) {
			return s.Import(ctx, bytes.NewReader(zstded(t, layoutTar(t, img))), quietly)
		},
	}
	for way, bring := range ways {
		fresh := newImages(t)
		s = fresh
		for range 2 {
			got, err := bring()
			if err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			if got.Digest != hash.String() || got.Env["PATH"] != "/x:/bin" || got.Env["GREETING"] != "a=b" || len(got.Env) != 2 || got.Entries != 5 {
				t.Errorf("%s: %+v, want digest %s", way, got, hash)
			}
		}
		if names := folders(t, s); len(names) != 1 || names[0] != hash.Hex {
			t.Errorf("%s: the folder has %v", way, names)
		}
		root, err := s.Root(hash.String())
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(root.Path, "bin/tool"))
		if _, err := os.Stat(filepath.Join(root.Path, "gone")); string(text) != "new" || err == nil {
			t.Errorf("%s: the tool is %q, and what is gone: %v", way, text, err)
		}
	}
	// The next process finds it.
	next, err := New(Options{Dir: s.dir, Limits: testLimits, Logger: s.logger})
	if err != nil {
		t.Fatal(err)
	}
	if one, err := next.Image(hash.String()); err != nil || one.Env["GREETING"] != "a=b" {
		t.Errorf("after a restart: %+v, %v", one, err)
	}
}

func TestRootTar(t *testing.T) {
	s := newImages(t)
	// A file that is called as docker's manifest does not make it docker's.
	plain := tarOf(t, dir("bin"), file("bin/tool", "x"), file("manifest.json", "{}"))
	var digests []string
	for _, b := range [][]byte{plain, gzipped(t, plain), zstded(t, plain)} {
		one, err := s.Import(context.Background(), bytes.NewReader(b), quietly)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, one.Digest)
	}
	if names := folders(t, s); len(names) != 1 || len(slices.Compact(digests)) != 1 {
		t.Errorf("digests %v, folders %v", digests, names)
	}
}

// TestConcurrently: two calls for one image unpack once.
func TestConcurrently(t *testing.T) {
	s := newImages(t)
	archive := layoutTar(t, twoLayers(t))
	var unpacked atomic.Int32
	s.logger = slog.New(counting{slog.DiscardHandler, &unpacked})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := s.Import(context.Background(), bytes.NewReader(archive), quietly); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if names := folders(t, s); unpacked.Load() != 1 || len(names) != 1 {
		t.Errorf("unpacked %d times, folders %v", unpacked.Load(), names)
	}
}

// counting counts what is logged.
type counting struct {
	slog.Handler
	n *atomic.Int32
}

func (c counting) Enabled(context.Context, slog.Level) bool      { return true }
func (c counting) Handle(_ context.Context, _ slog.Record) error { c.n.Add(1); return nil }

func TestRetain(t *testing.T) {
	s := newImages(t)
	var digests []string
	for _, text := range []string{"a", "b"} {
		one, err := s.Import(context.Background(), bytes.NewReader(tarOf(t, file("x", text))), quietly)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, one.Digest)
	}
	if err := s.Retain(func(d string) bool { return d == digests[0] }); err != nil {
		t.Fatal(err)
	}
	_, kept := s.Root(digests[0])
	_, gone := s.Root(digests[1])
	if names := folders(t, s); kept != nil || !errors.Is(gone, sandbox.ErrNoImage) || len(names) != 1 {
		t.Errorf("kept: %v, removed: %v, folders %v", kept, gone, names)
	}
}

// TestHalf: what a killed process has left half done is removed, and what fails
// leaves nothing.
func TestHalf(t *testing.T) {
	s := newImages(t)
	half := filepath.Join(s.dir, building+"1", "root")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Dir: s.dir, Logger: s.logger}); err != nil || len(folders(t, s)) != 0 {
		t.Errorf("after a start there is %v (%v)", folders(t, s), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := s.Import(ctx, bytes.NewReader(tarOf(t, file("x", "x"))), func(text string) {
		if strings.HasPrefix(text, "unpacking") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(folders(t, s)) != 0 {
		t.Errorf("given up: %v, folders %v", err, folders(t, s))
	}
	if _, err := s.Import(context.Background(), bytes.NewReader(tarOf(t, file("../x", "x"))), quietly); err == nil || len(folders(t, s)) != 0 {
		t.Errorf("refused: %v, folders %v", err, folders(t, s))
	}
}

// TestDiskNearlyFull: an image is given up before the disk is full.
func TestDiskNearlyFull(t *testing.T) {
	s := newImages(t)
	free := int64(0)
	s.free = func() (int64, error) { return free, nil }
	archive := tarOf(t, file("x", "x"))
	if _, err := s.Import(context.Background(), bytes.NewReader(archive), quietly); !fault.Is(err, fault.NoSpace) || len(folders(t, s)) != 0 {
		t.Errorf("without room: %v, folders %v", err, folders(t, s))
	}
	free = 1
	if _, err := s.Import(context.Background(), bytes.NewReader(archive), quietly); err != nil {
		t.Errorf("with room: %v", err)
	}
}

// TestPoisoned: nobody puts other files under an image's digest.
func TestPoisoned(t *testing.T) {
	img := imageOf(t, runtime.GOARCH, tarOf(t, file("bin/tool", "good")))
	bad := bytes.Replace(dockerSave(t, img), nil, nil, 0)
	// The layers of a docker archive are gzipped tars; this one has another in its place.
	other := dockerSave(t, imageOf(t, runtime.GOARCH, tarOf(t, file("bin/tool", "evil"))))
	swapped := swapLayer(t, bad, other)
	s := newImages(t)
	_, err := s.Import(context.Background(), bytes.NewReader(swapped), quietly)
	if !fault.Is(err, fault.BadRequest) || !strings.Contains(err.Error(), "damaged") || len(folders(t, s)) != 0 {
		t.Errorf("another layer under the digest: %v, folders %v", err, folders(t, s))
	}
}

// swapLayer puts the layer of one docker archive into another.
func swapLayer(t *testing.T, into, from []byte) []byte {
	t.Helper()
	var layer []byte
	each(t, from, func(h *tar.Header, content []byte) {
		if strings.HasSuffix(h.Name, ".tar.gz") {
			layer = content
		}
	})
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	each(t, into, func(h *tar.Header, content []byte) {
		if strings.HasSuffix(h.Name, ".tar.gz") {
			content = layer
		}
		if err := w.WriteHeader(&tar.Header{Name: h.Name, Size: int64(len(content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func each(t *testing.T, archive []byte, do func(*tar.Header, []byte)) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		do(h, content)
	}
}

func TestArchiveSentences(t *testing.T) {
	img := twoLayers(t)
	for _, c := range []struct {
		name    string
		archive []byte
		want    string
	}{
		{"nothing", nil, "the archive is empty"},
		{"text", []byte("#!/bin/sh\necho this is no archive, however long it may be\n" + strings.Repeat("x", 600)), "no tar archive"},
		{"another platform", layoutTar(t, imageOf(t, "s390x", tarOf(t, file("a", "a")))), "for linux/s390x, and this machine is linux/" + runtime.GOARCH},
		{"two images", layoutTar(t, img, imageOf(t, runtime.GOARCH, tarOf(t, file("a", "a")))), "has 2 images"},
		{"two saved images", dockerSave(t, img, imageOf(t, runtime.GOARCH, tarOf(t, file("a", "a")))), "has 2 images"},
		{"cut gzip", gzipped(t, layoutTar(t, img))[:900], "damaged"},
		{"cut layout", layoutTar(t, img)[:1700], "damaged"},
		{"empty layout", layoutTar(t), "no image"},
		{"a layout without its blobs", tarOf(t, file("oci-layout", `{"imageLayoutVersion":"1.0.0"}`), file("index.json", `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":2,"digest":"sha256:`+strings.Repeat("0", 64)+`"}]}`)), "damaged"},
		{"a large index", tarOf(t, file("oci-layout", "{}"), file("index.json", strings.Repeat(" ", maxManifest+1))), "more than any image needs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newImages(t)
			_, err := s.Import(context.Background(), bytes.NewReader(c.archive), quietly)
			var f *fault.Error
			if !errors.As(err, &f) || !strings.Contains(f.Message, c.want) || len(folders(t, s)) != 0 {
				t.Errorf("got %v, want a sentence with %q; folders %v", err, c.want, folders(t, s))
			}
		})
	}
}
