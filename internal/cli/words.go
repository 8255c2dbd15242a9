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

// situation says in one sentence how a session is.
func situation(s client.Session) string {
	switch s.Status {
	case client.SessionProvisioning:
		return "Its machine is being made."
	case client.SessionUpdating:
		return "It is being rolled back."
	case client.SessionDestroying:
		return "It is being removed."
	case client.SessionDestroyed:
		return "It was removed; its history can still be read."
	case client.SessionFailed:
		return "It failed: " + first(s.Message, "no reason was given") + "."
	case client.SessionPaused:
		return paused(s)
	}
	switch {
	case s.Run != nil && s.Run.State == client.RunAwaiting:
		return "Its agent waits for your answer."
	case s.Run != nil && s.PausePending:
		return "Its agent works; it will be paused when the run has ended."
	case s.Run != nil:
		return "Its agent works."
	case s.Terminal != "":
		return "Its conversation has ended (" + s.Terminal + "); its machine still runs."
	case !s.AcceptsInput:
		return "It has no agent; its machine runs."
	default:
		return "It is ready for input."
	}
}

func paused(s client.Session) string {
	switch s.PauseReason {
	case "idle":
		return "It was frozen after a while without activity; whatever is asked of it wakes it."
	case "zero_balance":
		return "It is frozen because the balance is used up; it goes on when that is topped up."
	default:
		return "It is frozen with all its processes; whatever is asked of it wakes it."
	}
}

// next lists the commands that make sense now.
func next(s client.Session) []string {
	switch s.Status {
	case client.SessionProvisioning, client.SessionUpdating, client.SessionDestroying:
		return []string{"paddock events --follow " + s.Name}
	case client.SessionDestroyed:
		return []string{"paddock events " + s.SessionID}
	case client.SessionFailed:
		return []string{"paddock events " + s.Name, "paddock remove " + s.Name}
	}
	switch {
	case s.Run != nil && s.Run.State == client.RunAwaiting:
		return []string{"paddock approve " + s.Name, "paddock approve " + s.Name + " --reject", "paddock cancel " + s.Name}
	case s.Run != nil:
		return []string{"paddock run watch " + s.Name, "paddock cancel " + s.Name}
	case !s.AcceptsInput || s.Terminal != "":
		return []string{"paddock exec " + s.Name + " -- ls -la", "paddock remove " + s.Name}
	case s.Status == client.SessionPaused:
		return []string{"paddock prompt " + s.Name + " …", "paddock resume " + s.Name, "paddock remove " + s.Name}
	default:
		return []string{"paddock prompt " + s.Name + " …", "paddock exec " + s.Name + " -- ls -la", "paddock pause " + s.Name}
	}
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

// lasted says how long a run took, or takes; empty while it is queued.
func lasted(now time.Time, r client.Run) string {
	if r.StartedAt.IsZero() {
		return ""
	}
	end := r.EndedAt
	if end.IsZero() {
		end = now
	}
	return end.Sub(r.StartedAt).Round(100 * time.Millisecond).String()
}
