package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// saveStall is how long a save may write nothing before it is given up: a sandbox
// that hangs may not keep the others' files from being saved. However large the
// files are, one that lives writes on.
const saveStall = 2 * time.Minute

// errStalled ends a save that writes nothing any more.
var errStalled = errors.New("the sandbox writes nothing any more")

// whileGrowing gives a context that ends with errStalled when the files in a
// folder have not grown for limit; over ends the watching.
func whileGrowing(ctx context.Context, folder string, limit time.Duration) (_ context.Context, over func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(max(limit/16, time.Millisecond))
		defer tick.Stop()
		size, since := int64(-1), time.Now()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			switch now := sizeOf(folder); {
			case now != size:
				size, since = now, time.Now()
			case time.Since(since) >= limit:
				cancel(errStalled)
				return
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		watch.Wait()
	}
}

// sizeOf is how many bytes the files in a folder have.
func sizeOf(folder string) (sum int64) {
	files, _ := filepath.Glob(filepath.Join(folder, "*"))
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
