package image

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"paddock/internal/fault"
	"paddock/internal/sandbox"
)

const (
	// registrySilence is how long a registry may send nothing.
	registrySilence = 60 * time.Second
	// layerTries is how often a layer is fetched whose transfer breaks.
	layerTries = 3
)

// Name is part of sandbox.Images.
func (s *Images) Name(ref string) (string, error) {
	r, err := parse(ref)
	if err != nil {
		return "", err
	}
	return r.Name(), nil
}

func parse(ref string) (name.Reference, error) {
	r, err := name.ParseReference(ref)
	if err == nil && strings.Trim(ref[:1], "/.~") == "" {
		err = errors.New("it is a path") // which the parser takes for a registry of that name
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.BadRequest, "%.200q is no reference to an image; write one such as debian:13 or registry.example.com/team/image:tag", ref)
	}
	return r, nil
}

// Pull is part of sandbox.Images.
func (s *Images) Pull(ctx context.Context, ref string, progress func(string)) (sandbox.Image, error) {
	r, err := parse(ref)
	if err != nil {
		return sandbox.Image{}, err
	}
	ctx, quiet := watchSilence(ctx, registrySilence)
	defer quiet.stop()
	progress("asking " + r.Context().RegistryStr() + " for " + ref)
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(s.transport),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}),
	}
	img, err := remote.Image(r, options...)
	if err != nil {
		return sandbox.Image{}, pullFault(ctx, r, err)
	}
	number := 0
	from, err := newSource(r.Name(), img, func(l v1.Layer) (io.ReadCloser, error) {
		number++
		return s.fetch(ctx, r, l, fmt.Sprintf("pulling layer %d", number), quiet, progress)
	})
	if err != nil {
		return sandbox.Image{}, pullFault(ctx, r, err)
	}
	quiet.pause()
	one, err := s.unpacked(ctx, from, progress)
	if err != nil {
		return one, pullFault(ctx, r, err)
	}
	return one, nil
}

// fetch brings a layer here, as it is sent, and gives what is in it. A transfer
// that breaks does not leave half a layer unpacked.
func (s *Images) fetch(ctx context.Context, r name.Reference, l v1.Layer, what string, quiet *silence, progress func(string)) (io.ReadCloser, error) {
	quiet.heard()
	defer quiet.pause() // what is done with a layer is not the registry's
	var last error
	for range layerTries {
		file, err := s.spool()
		if err != nil {
			return nil, err
		}
		err = func() error {
			content, err := l.Compressed()
			if err != nil {
				return err
			}
			defer content.Close()
			counted := &counter{from: content, heard: quiet.heard, room: s.room, what: what, progress: progress}
			_, err = io.Copy(file, &bound{counted, s.limits.Bytes})
			return err
		}()
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		if err == nil {
			return inflate(file, file.Close)
		}
		file.Close()
		var refused *transport.Error
		var f *fault.Error
		if last = noRoom(err); errors.As(last, &f) || errors.As(err, &refused) && !refused.Temporary() || ctx.Err() != nil {
			break
		}
	}
	return nil, pullFault(ctx, r, last)
}

// spool opens a file for what comes in, which goes with whoever closes it.
func (s *Images) spool() (*os.File, error) {
	file, err := os.CreateTemp(s.dir, building+"blob-")
	if err != nil {
		return nil, fmt.Errorf("make file for a layer: %w", err)
	}
	return file, os.Remove(file.Name())
}

// counter says how much came in, about once a second.
type counter struct {
	from     io.Reader
	heard    func()
	room     func() error
	what     string
	progress func(string)
	told     time.Time
	looked   time.Time
	n        int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	c.heard()
	now := time.Now()
	if now.Sub(c.looked) >= lookAgain {
		c.looked = now
		if err := c.room(); err != nil {
			return n, err
		}
	}
	if now.Sub(c.told) >= time.Second {
		c.told = now
		c.progress(fmt.Sprintf("%s: %d MiB so far", c.what, c.n>>20))
	}
	return n, err
}

// silence ends a context when nothing was heard for too long.
type silence struct {
	timer *time.Timer
	most  time.Duration
	end   context.CancelCauseFunc
}

// errSilent is why the context of a registry that says nothing has ended.
var errSilent = fmt.Errorf("nothing came for %s", registrySilence)

func watchSilence(ctx context.Context, most time.Duration) (context.Context, *silence) {
	ctx, end := context.WithCancelCause(ctx)
	return ctx, &silence{time.AfterFunc(most, func() { end(errSilent) }), most, end}
}

func (s *silence) heard() { s.timer.Reset(s.most) }
func (s *silence) pause() { s.timer.Stop() }
func (s *silence) stop()  { s.timer.Stop(); s.end(nil) }

// pullFault makes the sentence of what a registry, or the way to it, said.
func pullFault(ctx context.Context, r name.Reference, err error) error {
	var f *fault.Error
	var said *transport.Error
	var noName *net.DNSError
	var unknown x509.UnknownAuthorityError
	var wrongHost x509.HostnameError
	host := r.Context().RegistryStr()
	switch {
	case errors.As(err, &f):
		return err
	case errors.Is(context.Cause(ctx), errSilent):
		return fault.Wrap(err, fault.BadGateway, "the registry %s sent nothing for %s; try again", host, registrySilence)
	case ctx.Err() != nil:
		return err
	case errors.As(err, &said):
		switch said.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return fault.Wrap(err, fault.BadRequest, "the registry %s does not give %s to us: the image does not exist there, or it needs a login (docker login %s, as the user that the server runs as)", host, r.Name(), host)
		case http.StatusNotFound:
			return fault.Wrap(err, fault.BadRequest, "there is no image %s in the registry %s", r.Name(), host)
		case http.StatusTooManyRequests:
			return fault.Wrap(err, fault.BadGateway, "the registry %s limits how much is pulled, and we are past it; log in there, or try again later", host)
		}
		return fault.Wrap(err, fault.BadGateway, "the registry %s answered %d; try again later", host, said.StatusCode)
	case strings.Contains(err.Error(), "no child with platform"):
		return fault.Wrap(err, fault.BadRequest, "the image %s is not made for this machine's platform, linux/%s", r.Name(), runtime.GOARCH)
	case errors.As(err, &noName):
		return fault.Wrap(err, fault.BadGateway, "the registry %s cannot be reached: its name is not found", host)
	case errors.As(err, &unknown), errors.As(err, &wrongHost):
		return fault.Wrap(err, fault.BadGateway, "the registry %s cannot be trusted: %v", host, err)
	}
	return fault.Wrap(err, fault.BadGateway, "the registry %s cannot be reached, or does not speak its protocol: %v", host, shortly(err))
}

// shortly is the innermost part of an error of the network.
func shortly(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
