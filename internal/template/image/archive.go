package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"

	"paddock/internal/fault"
	"paddock/internal/sandbox"
)

// Import is part of sandbox.Images.
func (s *Images) Import(ctx context.Context, content io.Reader, progress func(string)) (sandbox.Image, error) {
	work, err := os.MkdirTemp(s.dir, building+"import-")
	if err != nil {
		return sandbox.Image{}, fmt.Errorf("make folder for an import: %w", err)
	}
	defer os.RemoveAll(work)
	got, err := s.receive(ctx, content, filepath.Join(work, "archive.tar"), progress)
	if err != nil {
		return sandbox.Image{}, noRoom(err)
	}
	from, err := got.source(work)
	if err != nil {
		return sandbox.Image{}, noRoom(err)
	}
	return s.unpacked(ctx, from, progress)
}

// received is an archive that was written to a file.
type received struct {
	path   string
	digest string // of the tar
	limits Limits
	sizes  map[string]int64 // of what says what an image is made of, by name
}

// describing are the names of what describes an image in an archive, which is
// read into memory.
var describing = regexp.MustCompile(`^(manifest\.json|oci-layout|index\.json|[a-f0-9]{64}(\.json)?|blobs/[a-z0-9]+/[a-f0-9]+)$`)

// maxDescribing is how many of these an archive may have; layers are among them.
const maxDescribing = 16 << 10

// small says whether what describes an image is no larger than it ever is.
func (r *received) small(name string) error {
	if r.sizes[name] > maxManifest {
		return fault.New(fault.BadRequest, "the archive's %s has %d bytes, more than any image needs", name, r.sizes[name])
	}
	return nil
}

// receive writes an archive, whatever it is compressed with, to a file.
func (s *Images) receive(ctx context.Context, content io.Reader, path string, progress func(string)) (*received, error) {
	plain, err := inflate(content, func() error { return nil })
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sum := sha256.New()
	counted := &counter{from: &until{ctx, plain}, heard: func() {}, room: s.room, what: "receiving the image", progress: progress}
	if _, err := io.Copy(io.MultiWriter(file, sum), &bound{counted, s.limits.Bytes + 2048*s.limits.Entries}); err != nil {
		return nil, cutFault(err)
	}
	got := &received{path: path, digest: "sha256:" + hex.EncodeToString(sum.Sum(nil)), limits: s.limits, sizes: map[string]int64{}}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return got, got.look(file)
}

// cutFault keeps the errors that have a sentence, or are of the disk.
func cutFault(err error) error {
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, zstd.ErrCRCMismatch) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.Wrap(err, fault.BadRequest, "the archive is damaged or was cut: %v", err)
	}
	return err
}

// until reads as long as a context lives.
type until struct {
	ctx  context.Context
	from io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.from.Read(p)
}

// look finds out what an archive is.
func (r *received) look(file io.Reader) error {
	archive := tar.NewReader(bufio.NewReaderSize(file, 1<<20))
	for n := int64(0); ; n++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return fault.New(fault.BadRequest, "the archive is empty; an image is an OCI layout, what docker save writes, or a tar of a root file system")
			}
			return nil
		}
		if err != nil {
			return fault.Wrap(err, fault.BadRequest, "this is no tar archive, or it is damaged; an image is an OCI layout, what docker save writes, or a tar of a root file system")
		}
		if n > r.limits.Entries {
			return fault.New(fault.BadRequest, "the archive has more than %d entries, which is the limit", r.limits.Entries)
		}
		if name, err := cleanName(h.Name); err == nil && describing.MatchString(name) && h.Typeflag == tar.TypeReg {
			if r.sizes[name] = h.Size; len(r.sizes) > maxDescribing {
				return fault.New(fault.BadRequest, "the archive has more parts than any image")
			}
		}
	}
}

// source gives what is in the archive.
func (r *received) source(work string) (*source, error) {
	has := func(name string) bool { _, ok := r.sizes[name]; return ok }
	switch {
	case has("oci-layout") && has("index.json"):
		return r.layout(work)
	case has("manifest.json"):
		if from, err := r.saved(); from != nil || err != nil {
			return from, err
		}
	}
	one := layer{digest: r.digest, open: func() (io.ReadCloser, error) { return os.Open(r.path) }}
	return &source{name: "archive", digest: r.digest, layers: []layer{one}}, nil
}

func uncompressed(l v1.Layer) (io.ReadCloser, error) { return l.Uncompressed() }

// saved is what docker save has written; nil when it is not that.
func (r *received) saved() (*source, error) {
	if err := r.small("manifest.json"); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return os.Open(r.path) }
	manifest, err := tarball.LoadManifest(open)
	if err != nil || len(manifest) == 0 || manifest[0].Config == "" {
		return nil, nil // a file of this name in a root file system
	}
	if len(manifest) > 1 {
		return nil, fault.New(fault.BadRequest, "the archive has %d images; save the one that is meant by itself", len(manifest))
	}
	if err := r.small(manifest[0].Config); err != nil {
		return nil, err
	}
	img, err := tarball.Image(open, nil)
	if err != nil {
		return nil, fault.Wrap(err, fault.BadRequest, "the archive says that docker save has written it, and cannot be read: %v", err)
	}
	from, err := newSource("docker archive", img, uncompressed)
	return from, archiveFault(err)
}

var blobName = regexp.MustCompile(`^blobs/[a-z0-9]+/[a-f0-9]+$`)

// layout is an OCI layout, whose files are written into the folder.
func (r *received) layout(work string) (*source, error) {
	if err := r.small("index.json"); err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "layout")
	file, err := os.Open(r.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	archive := tar.NewReader(bufio.NewReaderSize(file, 1<<20))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		name, err := cleanName(h.Name)
		if err != nil || h.Typeflag != tar.TypeReg || name != "oci-layout" && name != "index.json" && !blobName.MatchString(name) {
			continue // nothing that a layout has
		}
		if err := writeBlob(filepath.Join(dir, name), archive); err != nil {
			return nil, err
		}
	}
	path, err := layout.FromPath(dir)
	if err != nil {
		return nil, archiveFault(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		return nil, archiveFault(err)
	}
	img, err := r.choose(index)
	if err != nil {
		return nil, archiveFault(err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		return nil, archiveFault(err)
	}
	if err := r.small(blobOf(manifest.Config.Digest)); err != nil {
		return nil, err
	}
	from, err := newSource("OCI layout", img, uncompressed)
	return from, archiveFault(err)
}

func writeBlob(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

func blobOf(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// choose finds the one image of an index that is for this machine.
func (r *received) choose(index v1.ImageIndex) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	found := map[v1.Hash]v1.Image{} // several tags may name one
	other := ""
	for _, one := range manifest.Manifests {
		if err := r.small(blobOf(one.Digest)); err != nil {
			return nil, err
		}
		switch p := one.Platform; {
		case one.MediaType.IsIndex():
			below, err := index.ImageIndex(one.Digest)
			if err != nil {
				return nil, err
			}
			img, err := r.choose(below)
			if err != nil {
				return nil, err
			}
			found[one.Digest] = img
		case !one.MediaType.IsImage():
		case p != nil && (p.OS == "unknown" || p.Architecture == "unknown"): // an attestation
		case p != nil && (p.OS != "linux" || p.Architecture != runtime.GOARCH):
			other = p.OS + "/" + p.Architecture
		default:
			img, err := index.Image(one.Digest)
			if err != nil {
				return nil, err
			}
			found[one.Digest] = img
		}
	}
	switch {
	case len(found) > 1:
		return nil, fault.New(fault.BadRequest, "the OCI layout has %d images for this machine; make one with the image that is meant alone", len(found))
	case len(found) == 1:
		for _, img := range found {
			return img, nil
		}
	case other != "":
		return nil, wrongPlatform(other)
	}
	return nil, fault.New(fault.BadRequest, "the OCI layout has no image")
}

// archiveFault makes a sentence of an archive that is not what it seems.
func archiveFault(err error) error {
	var f *fault.Error
	var syntax *json.SyntaxError
	switch {
	case err == nil, errors.As(err, &f):
		return err
	case errors.As(err, &syntax), errors.Is(err, os.ErrNotExist):
		return fault.Wrap(err, fault.BadRequest, "the archive is damaged: %v", shortly(err))
	}
	return fault.Wrap(err, fault.BadRequest, "the archive cannot be read: %v", err)
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// maxWindow is the most memory that unpacking zstd may take for itself.
const maxWindow = 128 << 20

// inflate undoes gzip and zstd, told by how they begin.
func inflate(content io.Reader, shut func() error) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(content, 256<<10)
	start, err := buffered.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, shut())
	}
	switch {
	case bytes.HasPrefix(start, gzipMagic):
		plain, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, errors.Join(cutFault(err), shut())
		}
		return &inflated{plain, shut}, nil
	case bytes.HasPrefix(start, zstdMagic):
		plain, err := zstd.NewReader(buffered, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, errors.Join(err, shut())
		}
		return &inflated{plain, func() error { plain.Close(); return shut() }}, nil
	}
	return &inflated{buffered, shut}, nil
}

type inflated struct {
	io.Reader
	shut func() error
}

func (i *inflated) Close() error { return i.shut() }
