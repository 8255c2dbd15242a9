package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"paddock/internal/network/egress"
	"paddock/internal/sandbox"
	"paddock/internal/template"
	"paddock/internal/template/image"
)

// hostTemplate is the default template while it is made ready, beside everything
// else that a start does.
type hostTemplate struct {
	done chan struct{} // closed once it is ready, or could not be made so
	root sandbox.Root  // set before
	err  error         // set before
}

// prepareHost begins to make the default template ready, so that the first
// session need not wait for it. Done is closed soon after ctx has ended.
func prepareHost(ctx context.Context, rootfs sandbox.Rootfs, log *slog.Logger) *hostTemplate {
	h := &hostTemplate{done: make(chan struct{})}
	go func() { // whoever called waits for done
		defer close(h.done)
		h.root, h.err = rootfs.Prepare(ctx, template.Host, func(s string) {
			log.Info("preparing template", "template", template.Host, "progress", s)
		})
		if h.err != nil && ctx.Err() == nil {
			log.Error("prepare template", "template", template.Host, "error", h.err)
		}
	}()
	return h
}

// openImages opens the folder of unpacked images.
func openImages(cfg Config, operator egress.Operator) (*image.Images, error) {
	images, err := image.New(image.Options{
		Dir: filepath.Join(cfg.DataDir, "images"), Limits: image.DefaultLimits, Transport: registryTransport(operator, cfg.Registries),
		Free: func() (int64, error) {
			free, err := freeRoom(cfg.DataDir)
			return free.Disk - cfg.Reserve.Disk, err
		},
		Logger: cfg.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("open images: %w", err)
	}
	return images, nil
}

// warnings are what there is to say about the template, as far as that is known.
func (h *hostTemplate) warnings() []string {
	select {
	case <-h.done:
		return h.root.Warnings
	default:
		return nil
	}
}
