package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/sandbox"
)

// DefaultLimits are more than the images have that people use.
var DefaultLimits = Limits{Bytes: 64 << 30, Entries: 4 << 20}

// Options is what Images need to know.
type Options struct {
	Dir    string // keeps them; made (0700) when absent; absolute
	Limits Limits
	// Transport reaches registries.
	Transport http.RoundTripper
	// Free reads how many bytes of the disk images may still take; nil: as many as
	// there are.
	Free   func() (int64, error)
	Logger *slog.Logger
}

// Images are the unpacked images of one folder, which no other process uses.
// They are safe for concurrent use.
type Images struct {
	dir       string
	limits    Limits
	transport http.RoundTripper
	free      func() (int64, error)
	logger    *slog.Logger
	turns     turns // of who unpacks, by digest

	mu    sync.Mutex
	known map[string]sandbox.Image // what was read of image.json, by digest
}

var _ sandbox.Images = (*Images)(nil)

// building begins the name of a folder that is being made or removed.
const building = "building-"

// New makes Images, and removes what a killed process has left half done.
func New(o Options) (*Images, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of images: %w", err)
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find folder of images: %w", err)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read folder of images: %w", err)
	}
	for _, entry := range names {
		if strings.HasPrefix(entry.Name(), building) {
			if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
				return nil, fmt.Errorf("remove half an image: %w", err)
			}
		}
	}
	return &Images{dir: dir, limits: o.Limits, transport: o.Transport, free: o.Free, logger: o.Logger, known: map[string]sandbox.Image{}}, nil
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (s *Images) folder(digest string) string {
	return filepath.Join(s.dir, strings.TrimPrefix(digest, "sha256:"))
}

// Image is part of sandbox.Images.
func (s *Images) Image(digest string) (sandbox.Image, error) {
	if !digestForm.MatchString(digest) {
		return sandbox.Image{}, sandbox.ErrNoImage
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.known[digest]; ok {
		return one, nil
	}
	text, err := os.ReadFile(filepath.Join(s.folder(digest), "image.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return sandbox.Image{}, sandbox.ErrNoImage
	}
	var one sandbox.Image
	if err == nil {
		err = json.Unmarshal(text, &one)
	}
	if err != nil {
		return one, fmt.Errorf("read image %s: %w", digest, err)
	}
	s.known[digest] = one
	return one, nil
}

// Root is where an image is unpacked.
func (s *Images) Root(digest string) (sandbox.Root, error) {
	if _, err := s.Image(digest); err != nil {
		return sandbox.Root{}, err
	}
	return sandbox.Root{Path: filepath.Join(s.folder(digest), "root"), Fingerprint: digest}, nil
}

// Retain is part of sandbox.Images.
func (s *Images) Retain(keep func(digest string) bool) error {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("read folder of images: %w", err)
	}
	var failed []error
	for _, entry := range names {
		digest := "sha256:" + entry.Name()
		if !digestForm.MatchString(digest) || keep(digest) {
			continue
		}
		if err := s.drop(digest); err != nil {
			failed = append(failed, fmt.Errorf("remove image %s: %w", digest, err))
		}
	}
	return errors.Join(failed...)
}

// drop removes an image; never is half of one under its name.
func (s *Images) drop(digest string) error {
	s.mu.Lock()
	delete(s.known, digest)
	s.mu.Unlock()
	doomed := filepath.Join(s.dir, building+"removed-"+filepath.Base(s.folder(digest)))
	if err := os.RemoveAll(doomed); err != nil {
		return err
	}
	if err := os.Rename(s.folder(digest), doomed); err != nil {
		return err
	}
	if err := os.RemoveAll(doomed); err != nil {
		return err
	}
	s.logger.Info("image removed", "digest", digest)
	return nil
}

// unpacked gives an image that is there, or unpacks it. Of several calls for one
// image, one unpacks and the others wait.
func (s *Images) unpacked(ctx context.Context, from *source, progress func(string)) (sandbox.Image, error) {
	done, err := s.turns.take(ctx, from.digest)
	if err != nil {
		return sandbox.Image{}, err
	}
	defer done()
	if one, err := s.Image(from.digest); !errors.Is(err, sandbox.ErrNoImage) {
		return one, err
	}
	return s.build(ctx, from, progress)
}

// build unpacks an image under another name and then gives it its own, so that
// what has the name is whole, and on the disk, whenever the process was killed.
func (s *Images) build(ctx context.Context, from *source, progress func(string)) (one sandbox.Image, err error) {
	temporary, err := os.MkdirTemp(s.dir, building)
	if err != nil {
		return one, fmt.Errorf("make folder of image: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temporary))
		}
	}()
	root := filepath.Join(temporary, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return one, err
	}
	if err := os.Chmod(root, 0o755); err != nil { // whatever our umask is
		return one, err
	}
	jail, err := openJail(root)
	if err != nil {
		return one, err
	}
	defer jail.close()
	u := newUnpacker(ctx, jail, s.limits, progress)
	u.room = s.room
	if one, err = u.image(from); err != nil {
		return one, err
	}
	failpoint.Hit("image.unpacked")
	text, err := json.Marshal(one)
	if err != nil {
		return one, err
	}
	if err := os.WriteFile(filepath.Join(temporary, "image.json"), text, 0o600); err != nil {
		return one, err
	}
	progress("writing the image to the disk")
	if err := syncTree(temporary); err != nil {
		return one, fmt.Errorf("write image to disk: %w", err)
	}
	if err := os.Rename(temporary, s.folder(from.digest)); err != nil {
		return one, err
	}
	if err := syncFolder(s.dir); err != nil {
		return one, fmt.Errorf("write image to disk: %w", err)
	}
	s.logger.Info("image unpacked", "digest", from.digest, "source", from.name, "bytes", one.Bytes, "entries", one.Entries)
	return one, nil
}

// syncTree writes the file system of a folder to the disk.
func syncTree(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// room is an error once what the disk has free is to stay so.
func (s *Images) room() error {
	if s.free == nil {
		return nil
	}
	free, err := s.free()
	if err != nil {
		return fmt.Errorf("read free disk: %w", err)
	}
	if free <= 0 {
		return fault.New(fault.NoSpace, "the disk is nearly full: there is no room for the image beside the reserve of this server")
	}
	return nil
}

// noRoom makes a sentence of a full disk.
func noRoom(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fault.Wrap(err, fault.NoSpace, "the disk is full: there is no room for the image")
	}
	return err
}
