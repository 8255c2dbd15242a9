package acp

import (
	"os"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// An agent that starts, but never answers, fails the turn when its time is up,
// and is ended.
func TestAgentThatNeverAnswers(t *testing.T) {
	table := proc.NewTable()
	defer table.Close()
	started := make(chan *proc.Process, 1)
	a := New(guestapi.Agent{Adapter: "acp", Argv: []string{"sleep", "1000"}}, guest.Services{
		Spawn: func(argv []string, _ string, files [3]*os.File) (*proc.Process, error) {
			user := proc.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
			p, err := table.Start(proc.Spec{Path: proc.LookPath(argv[0], "/", proc.DefaultPath), Argv: argv, Dir: "/", User: user, Files: files})
			started <- p
			return p, err
		},
		Log: func(event.Log, guest.Source) {},
	}).(*adapter)
	defer a.Close()
	a.patience = 50 * time.Millisecond
	end := a.Turn(t.Context(), guestapi.Prompt{Text: "hello"}, nil)
	if end.Outcome != guestapi.EndFailed || end.Code != event.Internal || !strings.Contains(end.Message, "did not start: it has not answered within 50ms") {
		t.Errorf("%+v", end)
	}
	<-(<-started).Done()
}
