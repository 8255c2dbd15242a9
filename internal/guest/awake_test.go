package guest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestEndsWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		start := time.Now()
		if endsWithin(t.Context(), never, 90*time.Second+time.Millisecond) || time.Since(start) != 90*time.Second+time.Millisecond {
			t.Errorf("after %v", time.Since(start))
		}
		done := make(chan struct{})
		time.AfterFunc(3500*time.Millisecond, func() { close(done) })
		start = time.Now()
		if !endsWithin(t.Context(), done, time.Hour) || time.Since(start) != 3500*time.Millisecond {
			t.Errorf("after %v", time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if endsWithin(ctx, never, time.Hour) {
			t.Error("ended")
		}
	})
}
