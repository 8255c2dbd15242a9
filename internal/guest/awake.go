package guest

import (
	"context"
	"time"
)

// awakeSlice is how often a long wait looks at the clock.
const awakeSlice = time.Second

// endsWithin waits for done, at most d of the time in which this machine runs:
// a machine that is frozen for an hour has not used up an hour. The clock jumps
// over a freeze, so the wait is made of slices and no slice counts more than
// twice its length. ctx's end counts as the time being over.
func endsWithin(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for d > 0 {
		slice := min(d, awakeSlice)
		start := time.Now()
		timer.Reset(slice)
		select {
		case <-done:
			return true
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
		d -= min(time.Since(start), 2*slice)
	}
	return false
}
