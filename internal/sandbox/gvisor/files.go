package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gvisor.dev/gvisor/pkg/sentry/checkpoint"
	"gvisor.dev/gvisor/pkg/sentry/state/checkpointfiles"
	"gvisor.dev/gvisor/pkg/urpc"
	"gvisor.dev/gvisor/runsc/boot"

	"paddock/internal/sandbox"
)

// imageFiles are what gVisor saves a machine's files to, in the order in which
// its kernel takes them: what there is, the tree, where the content is, and the
// content.
var imageFiles = []string{
	checkpointfiles.FSCheckpointManifestFileName, checkpointfiles.FSCheckpointMultiTarFileName,
	checkpointfiles.PagesMetadataFileName, checkpointfiles.PagesFileName,
}

// SaveFiles is part of sandbox.Machine.
func (m *machine) SaveFiles(ctx context.Context, folder string) error {
	release, err := m.driver.turns.take(ctx, m.handle.ID)
	if err == nil {
		defer release()
		switch {
		case m.isClosed() || m.ended():
			err = sandbox.ErrGone
		default:
			err = m.control.saveFiles(ctx, folder)
		}
	}
	if err == nil {
		return nil
	}
	if m.ended() || m.kernel.ended() {
		err = sandbox.ErrGone
	}
	return fmt.Errorf("save files of sandbox %s: %w", m.handle.ID, err)
}

func (c direct) saveFiles(ctx context.Context, folder string) (err error) {
	args := boot.FSSaveArgs{Paths: []checkpoint.ResourceID{{Path: "/"}}}
	defer func() {
		for _, file := range args.Files {
			err = errors.Join(err, file.Close())
		}
	}()
	for _, name := range imageFiles {
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("make image: %w", err)
		}
		args.FilePayload = urpc.FilePayload{Files: append(args.Files, file)}
	}
	return c.call(ctx, boot.ContMgrFSSave, &args, nil)
}

// waitFiles returns when a started machine has read all the files that it was
// to start with.
func (c direct) waitFiles(ctx context.Context) error {
	if err := c.call(ctx, boot.ContMgrWaitFSRestore, &boot.WaitFSRestoreArgs{CID: c.id}, nil); err != nil {
		return fmt.Errorf("restore files: %w", err)
	}
	return nil
}
