package acp

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// brief is an agent that answers with one word, or dies of a prompt of "die".
const brief = `while read -r line; do
	case "$line" in
	*'"initialize"'*) echo '{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}' ;;
	*'"session/new"'*) echo '{"id":2,"result":{"sessionId":"s1"}}' ;;
	*'"session/load"'*) echo '{"id":2,"result":{}}' ;;
	*'"die"'*) exit 4 ;;
	*'"session/prompt"'*) echo '{"id":3,"result":{"stopReason":"end_turn"}}' ;;
	esac
done`

// beginSink is a sink of which only Begin counts.
type beginSink struct {
	guest.Sink
	begin func()
	logs  []event.Log
}

func (s *beginSink) Begin()                          { s.begin() }
func (s *beginSink) Log(l event.Log, _ guest.Source) { s.logs = append(s.logs, l) }

// An agent that is killed when it was already seen to live, but has not read the
// prompt, gets it on a new process, once and with its conversation. One that has
// read it is not given it again, whatever it has said.
func TestPromptThatTheAgentMissed(t *testing.T) {
	for name, c := range map[string]struct {
		prompt string
		deaths int // before the prompt
		want   guestapi.EndOutcome
		starts int
	}{
		"lives":             {"hello", 0, guestapi.EndCompleted, 1},
		"misses it":         {"hello", 1, guestapi.EndCompleted, 2},
		"misses it twice":   {"hello", 2, guestapi.EndFailed, 2},
		"dies of it":        {"die", 0, guestapi.EndFailed, 1},
		"misses, then dies": {"die", 1, guestapi.EndFailed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			table := proc.NewTable()
			defer table.Close()
			starts, pid := 0, 0
			a := New(guestapi.Agent{Adapter: "acp", Argv: []string{"sh", "-c", brief}}, guest.Services{
				Spawn: func(argv []string, _ string, files [3]*os.File) (*proc.Process, error) {
					starts++
					user := proc.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
					p, err := table.Start(proc.Spec{Path: "/bin/sh", Argv: argv, Dir: "/", User: user, Files: files})
					if err == nil {
						pid = p.Pid
					}
					return p, err
				},
				Log: func(event.Log, guest.Source) {},
			}).(*adapter)
			defer a.Close()
			sink := &beginSink{}
			sink.begin = func() {
				if c.deaths > 0 {
					c.deaths--
					_ = unix.Kill(pid, unix.SIGKILL) // of somebody else; it runs, as was just seen
				}
			}
			end := a.Turn(t.Context(), guestapi.Prompt{Text: c.prompt}, sink)
			if end.Outcome != c.want || starts != c.starts || len(sink.logs) > 0 {
				t.Errorf("%+v after %d starts, %+v", end, starts, sink.logs)
			}
		})
	}
}
