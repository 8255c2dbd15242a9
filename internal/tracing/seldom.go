package tracing

import (
	"log/slog"
	"sync"
	"time"
)

// complainEvery is how often somebody is told that spans are lost.
const complainEvery = time.Minute

// seldom is a log that takes a line a minute.
type seldom struct {
	log *slog.Logger

	mu   sync.Mutex // guards last
	last time.Time
}

// warn says whether the line was written.
func (s *seldom) warn(message string, attrs ...any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.last.IsZero() && now.Sub(s.last) < complainEvery {
		return false
	}
	s.last = now
	s.log.Warn(message, attrs...)
	return true
}
