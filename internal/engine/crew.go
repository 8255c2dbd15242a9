package engine

import "sync"

// crew is the goroutines of an engine. Unlike a WaitGroup it may be given work
// by callers who do not know whether the engine is stopping: what comes after
// the last goroutine of a stopping engine has ended is not begun.
type crew struct {
	mu      sync.Mutex // guards what follows
	busy    int
	leaving bool
	left    chan struct{} // closed when the crew is leaving and nobody is busy; nil before it leaves
}

// start runs fn in a goroutine; false when the crew has left.
func (c *crew) start(fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving && c.busy == 0 {
		return false
	}
	c.busy++
	go func() {
		defer c.end()
		fn()
	}()
	return true
}

func (c *crew) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	if c.leaving && c.busy == 0 {
		close(c.left)
	}
}

// leave waits until nobody is busy any more, and ends the crew. Again is no error.
func (c *crew) leave() {
	c.mu.Lock()
	if !c.leaving {
		c.leaving, c.left = true, make(chan struct{})
		if c.busy == 0 {
			close(c.left)
		}
	}
	left := c.left
	c.mu.Unlock()
	<-left
}
