package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/client"
)

// TestSituations walks every combination of what a session can be: each has a
// sentence, and commands that are possible then.
func TestSituations(t *testing.T) {
	statuses := []string{
		client.SessionProvisioning, client.SessionReady, client.SessionPaused, client.SessionUpdating,
		client.SessionDestroying, client.SessionDestroyed, client.SessionFailed, "SESSION_STATUS_OF_TOMORROW",
	}
	runs := []*client.ActiveRun{nil, {RunID: "run_1", State: client.RunRunning}, {RunID: "run_1", State: client.RunAwaiting}}
	seen := 0
	for _, status := range statuses {
		for _, reason := range []string{"manual", "idle", "zero_balance"} {
			for _, run := range runs {
				for flags := range 1 << 6 {
					s := client.Session{
						Name: "hello", SessionID: "sess_1", Status: status, PauseReason: reason, Run: run,
						PausePending: flags&1 != 0, KeepWarm: flags&2 != 0, AcceptsInput: flags&4 != 0,
						QueuedRuns: flags >> 3 & 1, ResumeOnTopoff: flags&16 != 0,
					}
					if flags&32 != 0 {
						s.Terminal, s.AcceptsInput = "the model refused", false
					}
					check(t, s)
					seen++
				}
			}
		}
	}
	t.Logf("%d situations", seen)
}

func check(t *testing.T, s client.Session) {
	t.Helper()
	text, commands := situation(s), next(s, nil)
	at := fmt.Sprintf("%s %s run=%v pending=%v warm=%v input=%v terminal=%q queued=%d: %q %v",
		s.Status, s.PauseReason, s.Run, s.PausePending, s.KeepWarm, s.AcceptsInput, s.Terminal, s.QueuedRuns, text, commands)
	if !strings.HasSuffix(text, ".") || strings.Contains(text, "..") || strings.Contains(text, "%!") || len(commands) == 0 {
		t.Errorf("no sentence, or nothing to do: %s", at)
	}
	has := func(verb string) bool {
		return slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, "paddock "+verb+" ") })
	}
	alive := s.Status == client.SessionReady || s.Status == client.SessionPaused
	switch {
	case has("prompt") && (!alive || !s.AcceptsInput || s.Terminal != ""):
		t.Errorf("it offers what will be refused: %s", at)
	case has("pause") && s.KeepWarm:
		t.Errorf("a session that is kept warm cannot be paused: %s", at)
	case has("exec") && !alive:
		t.Errorf("there is no machine: %s", at)
	case alive && s.Run != nil && s.Run.State == client.RunAwaiting && !has("approve"):
		t.Errorf("it does not say how to answer: %s", at)
	case s.Status == client.SessionReady && s.PausePending && !has("resume"):
		t.Errorf("it does not say how to take the pause back: %s", at)
	case alive && s.QueuedRuns > 0 && s.Run == nil && s.Terminal == "" && s.AcceptsInput && !strings.Contains(text, "One input waits"):
		t.Errorf("it does not tell of the queue: %s", at)
	}
}

func TestSituationWords(t *testing.T) {
	working := &client.ActiveRun{State: client.RunRunning}
	for want, s := range map[string]client.Session{
		"It is ready for input.":                                                                 {Status: client.SessionReady, AcceptsInput: true},
		"It has no agent; its machine runs.":                                                     {Status: client.SessionReady},
		"Its agent works.":                                                                       {Status: client.SessionReady, Run: working},
		"Its agent works. 3 inputs wait for their turn.":                                         {Status: client.SessionReady, Run: working, QueuedRuns: 3},
		"Its agent works; it will be paused when the run has ended.":                             {Status: client.SessionReady, Run: working, PausePending: true},
		"Its conversation has ended: no quota. Its machine still runs.":                          {Status: client.SessionReady, Terminal: "no quota"},
		"It is frozen with all its processes until it is resumed. One input waits for its turn.": {Status: client.SessionPaused, PauseReason: "manual", QueuedRuns: 1},
		"It was frozen after a while without activity; whatever is asked of it wakes it.":        {Status: client.SessionPaused, PauseReason: "idle"},
		"It is frozen because the balance is used up; it goes on by itself when that is topped up.": {
			Status: client.SessionPaused, PauseReason: "zero_balance", ResumeOnTopoff: true},
		"It failed: its machine was killed. Nothing of its machine is left; its history can still be read.": {
			Status: client.SessionFailed, Message: "its machine was killed"},
	} {
		if got := situation(s); got != want {
			t.Errorf("%+v: %q", s, got)
		}
	}
}

func TestIdle(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for want, s := range map[string]client.Session{
		"pauses in 14m 30s if nothing happens": {Status: client.SessionReady, IdleTimeoutSeconds: 900, IdleAt: now.Add(14*time.Minute + 30*time.Second)},
		"pauses in 0s if nothing happens":      {Status: client.SessionReady, IdleTimeoutSeconds: 900, IdleAt: now.Add(-time.Second)},
		"never pauses by itself (keep_warm)":   {Status: client.SessionReady, KeepWarm: true},
		"does not pause during a run":          {Status: client.SessionReady, IdleTimeoutSeconds: 900, Run: &client.ActiveRun{}},
		"kept awake by a call":                 {Status: client.SessionReady, IdleTimeoutSeconds: 900},
		"":                                     {Status: client.SessionPaused, IdleTimeoutSeconds: 900},
	} {
		if got := idle(now, s); got != want {
			t.Errorf("%+v: %q", s, got)
		}
	}
}
