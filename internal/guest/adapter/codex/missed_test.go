package codex

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// counting counts how often the agent is started, and gives its pid.
func (s stage) counting() (count, pid *int) {
	n, pid, spawn := new(int), new(int), s.services.Spawn
	s.services.Spawn = func(argv []string, dir string, files [3]*os.File) (*proc.Process, error) {
		*n++
		p, err := spawn(argv, dir, files)
		if err == nil {
			*pid = p.Pid
		}
		return p, err
	}
	return n, pid
}

// An agent that is killed when it was already seen to live, but has not read the
// prompt, gets it on a new process, once and with its conversation.
func TestPromptThatTheAgentMissed(t *testing.T) {
	for name, deaths := range map[string]int{"in the first turn": 1, "each time": 2} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			started, pid := s.counting()
			kills := 0
			s.sink.begin = func() {
				if kills < deaths {
					kills++
					_ = unix.Kill(*pid, unix.SIGKILL) // of somebody else; it runs, as was just seen
				}
			}
			end := s.turn("say here", nobody)
			if want := map[int]guestapi.EndOutcome{1: guestapi.EndCompleted, 2: guestapi.EndFailed}[deaths]; end.Outcome != want || *started != 2 {
				t.Errorf("%+v after %d starts", end, *started)
			}
			kills = 1 // of two: the next turn loses its agent once, if at all
			if end := s.turn("say again", nobody); end.Outcome != guestapi.EndCompleted {
				t.Errorf("the next turn: %+v", end)
			}
			if s.sink.has("could not restore") {
				t.Error(s.sink.lines)
			}
		})
	}
}

// A prompt that the agent has read is not given again, whatever it has said.
func TestPromptThatTheAgentRead(t *testing.T) {
	s := newStage(t)
	started, _ := s.counting()
	if end := s.turn("say nothing, die", nobody); end.Outcome != guestapi.EndFailed || end.Message != "agent exited with code 4" || *started != 1 {
		t.Errorf("%+v after %d starts", end, *started)
	}
}
