package cli

import (
	"fmt"
	"strings"
	"time"

	"paddock/client"
)

// stateWord is a session's state for people: ready, paused (idle), …
func stateWord(s client.Session) string {
	word := strings.ToLower(strings.TrimPrefix(s.Status, "SESSION_STATUS_"))
	if s.Status == client.SessionPaused && s.PauseReason != "" {
		word += " (" + strings.ReplaceAll(s.PauseReason, "_", " ") + ")"
	}
	return word
}

// runWord is a run's state for people: running, waits for you, …
func runWord(state string) string {
	if state == client.RunAwaiting {
		return "waits for you"
	}
	return strings.ToLower(strings.TrimPrefix(state, "RUN_STATE_"))
}

// ago says how long before now a time was; empty for no time.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := now.Sub(t)
	switch {
	case d < time.Second:
		return "just now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	}
}

// age is how old something is, as short as it can be said.
func age(now, t time.Time) string {
	return strings.TrimSuffix(strings.Replace(ago(now, t), "just now", "0s", 1), " ago")
}

// span is a duration for people: 12m 30s.
func span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// lasted says how long a run took, or takes; empty while it is queued.
func lasted(now time.Time, r client.Run) string {
	if r.StartedAt.IsZero() {
		return ""
	}
	end := r.EndedAt
	if end.IsZero() {
		end = now
	}
	switch d := max(0, end.Sub(r.StartedAt)); {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return span(d)
	}
}
