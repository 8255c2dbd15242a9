package cli

import (
	"net/http"
	"time"

	"paddock/client"
)

// stats answers as if one session had used half a CPU, another slept, and a
// third had no sandbox yet; one a page.
func (p *playedAPI) stats(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	all := []client.SandboxStats{
		{SessionID: sid(5), Name: "starting", Status: client.SessionProvisioning, CreatedAt: fiveMinutesAgo()},
		{SessionID: sid(2), Name: "nap", Status: client.SessionPaused, PauseReason: "idle", CreatedAt: fiveMinutesAgo(),
			ReadAt: fiveMinutesAgo().Truncate(time.Hour), CPUSeconds: 3, MemoryBytes: 20 << 20, DiskBytes: 3 << 30},
		{SessionID: sid(3), Name: "busy", Status: client.SessionReady, CreatedAt: fiveMinutesAgo(), Run: &client.ActiveRun{RunID: rid(9), State: client.RunRunning},
			ReadAt: now, CPUSeconds: float64(now.UnixNano()) / 2e9, MemoryBytes: 1536 << 20, MemoryLimitBytes: 2 << 30, DiskBytes: 4096, QueuedRuns: 2,
			ToolCall: &client.OpenToolCall{ToolCallID: "t", Name: "bash", Summary: "make \x1b[31mall", StartedAt: now}},
	}
	page := map[string]int{"": 0, "1": 1, "2": 2}[r.URL.Query().Get("page_token")]
	answer := client.SandboxStatsList{Sessions: all[page : page+1]}
	if page < len(all)-1 {
		answer.NextPageToken = string(rune('1' + page))
	}
	give(w, answer)
}
