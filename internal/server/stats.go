package server

import (
	"net/http"

	"paddock/internal/engine"
	"paddock/internal/server/gen"
	"paddock/internal/session"
)

func (e *edge) listSandboxStats(w http.ResponseWriter, r request) error {
	query := r.URL.Query()
	size, err := readPageSize(query)
	if err != nil {
		return err
	}
	stats, next, err := e.engine.SandboxStats(r.Context(), r.who.Team, size, query.Get("page_token"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.SandboxStatsList{Sessions: list(stats, statsOnWire), NextPageToken: next})
	return nil
}

// statsOnWire is how callers see what a session uses.
func statsOnWire(s engine.SandboxStats) gen.SandboxStats {
	out := gen.SandboxStats{
		SessionID: s.ID.String(), Name: s.Name, Status: s.State.Wire(), CreatedAt: s.CreatedAt.UTC(), QueuedRuns: s.Queued,
		ReadAt: s.ReadAt.UTC(), CPUSeconds: s.CPU.Seconds(), MemoryBytes: s.Memory, MemoryLimitBytes: s.Limit, DiskBytes: s.Disk,
	}
	if s.State == session.Paused {
		out.PauseReason = string(s.PauseReason)
	}
	if s.Run != nil {
		out.Run = &gen.ActiveRun{RunID: s.Run.ID.String(), State: s.Run.State.Wire()}
	}
	if c := s.Calling; c != nil {
		out.ToolCall = &gen.OpenToolCall{ToolCallID: c.ID, Name: c.Name, Summary: c.Summary, StartedAt: c.At.UTC()}
	}
	return out
}
