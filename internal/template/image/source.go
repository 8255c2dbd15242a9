package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"paddock/internal/fault"
	"paddock/internal/sandbox"
)

const (
	maxLayers   = 512
	maxManifest = 8 << 20 // bytes of a manifest or a configuration
)

// source is an image that can be unpacked.
type source struct {
	name   string // for people
	digest string // of the result: equal digests, equal roots
	env    []string
	layers []layer
}

// layer is one layer of a source.
type layer struct {
	digest string // of the tar, uncompressed
	open   func() (io.ReadCloser, error)
}

// newSource looks at an image of a registry or an archive. fetch gives a layer's
// tar, uncompressed.
func newSource(name string, img v1.Image, fetch func(v1.Layer) (io.ReadCloser, error)) (*source, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	if manifest.Config.Size > maxManifest {
		return nil, fault.New(fault.BadRequest, "the image has a configuration of %d bytes, more than any image needs", manifest.Config.Size)
	}
	text, err := img.RawConfigFile()
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fault.Wrap(err, fault.BadRequest, "the image's configuration cannot be read: %v", err)
	}
	if config.OS != "" && config.OS != "linux" || config.Architecture != "" && config.Architecture != runtime.GOARCH {
		return nil, wrongPlatform(config.OS + "/" + config.Architecture)
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) != len(config.RootFS.DiffIDs) {
		return nil, fault.New(fault.BadRequest, "the image is damaged: it has %d layers, and its configuration names %d", len(layers), len(config.RootFS.DiffIDs))
	}
	if len(layers) > maxLayers {
		return nil, fault.New(fault.BadRequest, "the image has %d layers; the limit is %d", len(layers), maxLayers)
	}
	// Not what the manifest says, for the content is kept under this name.
	sum := sha256.Sum256(text)
	s := &source{name: name, digest: "sha256:" + hex.EncodeToString(sum[:]), env: config.Config.Env}
	for i, one := range layers {
		s.layers = append(s.layers, layer{config.RootFS.DiffIDs[i].String(), func() (io.ReadCloser, error) { return fetch(one) }})
	}
	return s, nil
}

func wrongPlatform(has string) error {
	return fault.New(fault.BadRequest, "the image is for %s, and this machine is linux/%s; name an image for this platform", strings.Trim(has, "/"), runtime.GOARCH)
}

func newUnpacker(ctx context.Context, jail *jail, limits Limits, progress func(string)) *unpacker {
	return &unpacker{
		ctx: ctx, jail: jail, limits: limits, chown: os.Geteuid() == 0, folders: map[string]time.Time{},
		buffer: make([]byte, 256<<10), progress: progress, lost: map[string]int{}, told: time.Now(), room: func() error { return nil },
	}
}

// image unpacks all layers, and adds what a machine needs.
func (u *unpacker) image(from *source) (sandbox.Image, error) {
	for i, one := range from.layers {
		u.label = fmt.Sprintf("layer %d of %d", i+1, len(from.layers))
		u.progress(fmt.Sprintf("unpacking %s", u.label))
		if err := u.checked(one); err != nil {
			return sandbox.Image{}, err
		}
	}
	u.settle()
	if err := u.furnish(); err != nil {
		return sandbox.Image{}, fmt.Errorf("add what a machine needs: %w", err)
	}
	return sandbox.Image{Digest: from.digest, Bytes: u.bytes, Entries: u.entries, Env: variables(from.env), Warnings: u.warnings()}, nil
}

// checked unpacks a layer and holds all that it was against its digest.
func (u *unpacker) checked(one layer) error {
	content, err := one.open()
	if err != nil {
		return err
	}
	defer content.Close()
	sum := sha256.New()
	// Headers and padding come on top of the files, and are bounded with them.
	bounded := &bound{from: io.TeeReader(content, sum), left: u.limits.Bytes + 2048*u.limits.Entries}
	if err := u.layer(bounded); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, bounded); err != nil { // what follows a tar's end
		return damaged(err)
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != one.digest {
		return fault.New(fault.BadRequest, "the image is damaged: a layer has the digest %s and should have %s", got, one.digest)
	}
	return nil
}

// bound ends what never ends.
type bound struct {
	from io.Reader
	left int64
}

func (b *bound) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fault.New(fault.BadRequest, "a layer of the image is larger than any that can be unpacked here")
	}
	return n, err
}

func (u *unpacker) warnings() []string {
	var list []string
	if !u.chown {
		list = append(list, "the server does not run as root, so all files of the image belong to its user")
	}
	switch {
	case u.devices == 1:
		list = append(list, fmt.Sprintf("the device /%s is left out: every sandbox has a /dev of its own", u.device))
	case u.devices > 1:
		list = append(list, fmt.Sprintf("the device /%s and %d more in /dev are left out: every sandbox has a /dev of its own", u.device, u.devices-1))
	}
	for name, n := range u.lost {
		list = append(list, fmt.Sprintf("%d files have lost their %s: this host's file system or the server's user cannot set it", n, name))
	}
	slices.Sort(list)
	return list
}

// variables gives the environment of an image's configuration.
func variables(list []string) map[string]string {
	env := map[string]string{}
	for _, one := range list {
		if name, value, ok := strings.Cut(one, "="); ok && name != "" && !strings.ContainsRune(one, 0) {
			env[name] = value
		}
	}
	return env
}
