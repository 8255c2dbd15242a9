package cli

import (
	"fmt"
	"strings"
	"time"

	"paddock/client"
)

// situation says in one or two sentences how a session is.
func situation(s client.Session) string {
	switch s.Status {
	case client.SessionProvisioning:
		return "Its machine is being made."
	case client.SessionUpdating:
		return "It is being restored."
	case client.SessionDestroying:
		return "It is being removed."
	case client.SessionDestroyed:
		return "It was removed; its history can still be read."
	case client.SessionFailed:
		return "It failed: " + strings.TrimSuffix(first(s.Message, "no reason was given"), ".") + ". Nothing of its machine is left; its history can still be read."
	case client.SessionPaused:
		return paused(s)
	case client.SessionReady:
		return ready(s)
	default:
		return "Its state is one that this command line does not know; a newer one may."
	}
}

func ready(s client.Session) string {
	switch {
	case s.Run != nil && s.Run.State == client.RunAwaiting && s.PausePending:
		return "Its agent waits for your answer; it will be paused when the run has ended." + waiting(s)
	case s.Run != nil && s.Run.State == client.RunAwaiting:
		return "Its agent waits for your answer." + waiting(s)
	case s.Run != nil && s.PausePending:
		return "Its agent works; it will be paused when the run has ended." + waiting(s)
	case s.Run != nil:
		return "Its agent works." + waiting(s)
	case s.PausePending:
		return "It is about to be paused." + waiting(s)
	case s.Terminal != "":
		return "Its conversation has ended: " + strings.TrimSuffix(s.Terminal, ".") + ". Its machine still runs."
	case !s.AcceptsInput:
		return "It has no agent; its machine runs."
	case s.QueuedRuns > 0:
		return "Its agent is about to work." + waiting(s)
	default:
		return "It is ready for input."
	}
}

func paused(s client.Session) string {
	text := "It is frozen with all its processes; whatever is asked of it wakes it."
	switch {
	case s.PauseReason == "idle":
		text = "It was frozen after a while without activity; whatever is asked of it wakes it."
	case s.PauseReason == "zero_balance" && s.ResumeOnTopoff:
		text = "It is frozen because the balance is used up; it goes on by itself when that is topped up."
	case s.PauseReason == "zero_balance":
		text = "It is frozen because the balance is used up; when that is topped up, whatever is asked of it wakes it."
	case s.QueuedRuns > 0:
		text = "It is frozen with all its processes until it is resumed."
	}
	if s.Terminal != "" {
		text += " Its conversation has ended: " + strings.TrimSuffix(s.Terminal, ".") + "."
	}
	return text + waiting(s)
}

// waiting says how many inputs wait, as a sentence of its own.
func waiting(s client.Session) string {
	switch s.QueuedRuns {
	case 0:
		return ""
	case 1:
		return " One input waits for its turn."
	default:
		return fmt.Sprintf(" %d inputs wait for their turn.", s.QueuedRuns)
	}
}

// idle says when a session pauses by itself, or why it does not; empty when that
// is no question in its state.
func idle(now time.Time, s client.Session) string {
	switch {
	case s.Status != client.SessionReady:
		return ""
	case s.KeepWarm:
		return "never pauses by itself (keep_warm)"
	case !s.IdleAt.IsZero():
		return "pauses in " + span(max(0, s.IdleAt.Sub(now))) + " if nothing happens"
	case s.Run != nil || s.QueuedRuns > 0:
		return "does not pause during a run"
	case s.IdleTimeoutSeconds > 0:
		return "kept awake by a call"
	default:
		return ""
	}
}

// next lists the commands that make sense now. The asks are what a waiting run
// asks, as far as that is known.
func next(s client.Session, asks []client.Approval) []string {
	switch s.Status {
	case client.SessionProvisioning:
		return []string{"paddock wait " + s.Name + " --for ready", "paddock remove " + s.Name}
	case client.SessionUpdating, client.SessionDestroying:
		return []string{"paddock events --follow " + s.Name}
	case client.SessionDestroyed:
		return []string{"paddock events " + s.SessionID}
	case client.SessionFailed:
		return []string{"paddock events " + s.Name, "paddock remove " + s.Name}
	}
	if s.Status != client.SessionReady && s.Status != client.SessionPaused {
		return []string{"paddock events " + s.Name}
	}
	var list []string
	add := func(format string) { list = append(list, fmt.Sprintf(format, s.Name)) }
	switch {
	case s.Run != nil && s.Run.State == client.RunAwaiting:
		list = answers(s.Name, asks)
		add("paddock cancel %s")
	case s.Run != nil:
		add("paddock run watch %s")
		add("paddock cancel %s")
	case !s.AcceptsInput || s.Terminal != "":
		add("paddock exec %s -- ls -la")
		add("paddock remove %s")
	case s.Status == client.SessionPaused:
		add("paddock prompt %s …")
		add("paddock resume %s")
		add("paddock remove %s")
	default:
		add("paddock prompt %s …")
		add("paddock exec %s -- ls -la")
		if !s.KeepWarm && !s.PausePending {
			add("paddock pause %s")
		}
	}
	if s.PausePending {
		add("paddock resume %s") // takes the pause back
	}
	return list
}

// answers lists the commands that answer: where several things are asked, each
// is named.
func answers(session string, asks []client.Approval) (list []string) {
	command := "paddock approve " + session
	if len(asks) > 1 {
		for _, one := range asks {
			list = append(list, command+" "+one.RequestID+value(one))
		}
		return list
	}
	yes := command
	if len(asks) == 1 {
		yes += value(asks[0])
	}
	return []string{yes, command + " --reject"}
}

// value is the flag without which a question is not answered.
func value(ask client.Approval) string {
	if ask.Details.Question != "" {
		return " --answer …"
	}
	return ""
}
