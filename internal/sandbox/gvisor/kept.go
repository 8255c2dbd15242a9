package gvisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/log"

	"paddock/internal/sandbox"
)

// driveWord makes this program, called as `paddock runsc drive VERB FOLDER ID
// [STATUS|INTO]`, take one verb of control on a machine of its own version and say
// what came of it as one JSON document. A later version of Paddock with another
// gVisor calls it: what is said here never changes its meaning.
const driveWord = "drive"

// The verbs of drive, beside the names of pauseVerb and resumeVerb.
const (
	driveFind    = "find"
	driveObserve = "observe"
	driveGoOn    = "continue" // unknown to the builds before it
	driveSave    = "save"     // as driveGoOn
)

// unknownVerb is what drive has always answered to a verb that it does not know.
const unknownVerb = "is unknown to this version"

// driven is drive's answer.
type driven struct {
	Kernel int    `json:"kernel,omitempty"` // pid, of find
	Gofer  int    `json:"gofer,omitempty"`  // pid, of find
	Status status `json:"status,omitempty"` // of observe
	Gone   bool   `json:"gone,omitempty"`   // the machine does not run
	Error  string `json:"error,omitempty"`
}

// drive takes the verb of args and answers to out.
func drive(args []string, out io.Writer) {
	log.SetTarget(log.GoogleEmitter{Writer: &log.Writer{Next: os.Stderr}})
	answer, err := driveOnce(context.Background(), args)
	if errors.Is(err, sandbox.ErrGone) {
		answer.Gone = true
	} else if err != nil {
		answer.Error = err.Error()
	}
	_ = json.NewEncoder(out).Encode(answer) // who asked has gone
}

func driveOnce(ctx context.Context, args []string) (a driven, err error) {
	if len(args) < 3 {
		return a, errors.New("usage: runsc drive VERB FOLDER ID [STATUS]")
	}
	c := direct{folder: folder(args[1]), id: args[2]}
	switch args[0] {
	case driveFind:
		a.Kernel, a.Gofer, err = c.find(ctx)
	case driveObserve:
		if len(args) < 4 {
			return a, errors.New("observe wants the status that was")
		}
		a.Status, err = c.observe(ctx, status(args[3]))
	case driveGoOn:
		err = c.goOn(ctx)
	case driveSave:
		if len(args) < 4 {
			return a, errors.New("save wants the folder to write to")
		}
		err = c.saveFiles(ctx, args[3])
	case pauseVerb.name:
		err = c.tell(ctx, pauseVerb)
	case resumeVerb.name:
		err = c.tell(ctx, resumeVerb)
	default:
		err = fmt.Errorf("verb %q "+unknownVerb, args[0])
	}
	return a, err
}

// kept is the control of a machine by the program of the build that made it.
type kept struct {
	direct
	program string
}

func (k kept) find(ctx context.Context) (kernel, gofer int, err error) {
	a, err := k.ask(ctx, driveFind)
	return a.Kernel, a.Gofer, err
}

func (k kept) observe(ctx context.Context, was status) (status, error) {
	a, err := k.ask(ctx, driveObserve, string(was))
	if err == nil && a.Status != running && a.Status != paused {
		err = fmt.Errorf("the kept program says status %q", a.Status)
	}
	return a.Status, err
}

func (k kept) tell(ctx context.Context, v verb) error {
	_, err := k.ask(ctx, v.name)
	return err
}

func (k kept) goOn(ctx context.Context) error {
	_, err := k.ask(ctx, driveGoOn)
	return err
}

func (k kept) saveFiles(ctx context.Context, folder string) error {
	_, err := k.ask(ctx, driveSave, folder)
	if err != nil && strings.Contains(err.Error(), unknownVerb) {
		err = sandbox.ErrUnsupported
	}
	return err
}

// ask runs the program once.
func (k kept) ask(ctx context.Context, verb string, more ...string) (a driven, err error) {
	args := append([]string{"runsc", driveWord, verb, string(k.folder), k.id}, more...)
	cmd := exec.CommandContext(ctx, k.program, args...)
	cmd.Env = []string{} // it needs nothing of ours
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return a, cause
		}
		const most = 500
		return a, fmt.Errorf("run %s: %w: %.*s", k.program, err, most, said.String())
	}
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("read the answer of %s: %w", k.program, err)
	}
	switch {
	case a.Gone:
		return a, sandbox.ErrGone
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}
