package engine

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Work that is offered while the crew leaves is either done before it has left
// or never begun; what a goroutine of the crew starts is always done.
func TestCrewLeaves(t *testing.T) {
	for range 200 {
		var c crew
		var begun, ended, refused atomic.Int64
		var left atomic.Bool
		work := func() {
			begun.Add(1)
			if left.Load() {
				t.Error("work was begun after the crew had left")
			}
			if !c.start(func() { ended.Add(1) }) {
				t.Error("the crew refused work of its own")
			}
		}
		var offers sync.WaitGroup
		for range 20 {
			offers.Go(func() {
				if !c.start(work) {
					refused.Add(1)
				}
			})
		}
		c.leave()
		left.Store(true)
		at := ended.Load()
		offers.Wait()
		if ended.Load() != at || begun.Load() != at || begun.Load()+refused.Load() != 20 {
			t.Fatalf("begun %d, ended %d (%d when the crew had left), refused %d of 20", begun.Load(), ended.Load(), at, refused.Load())
		}
		c.leave()
	}
}
