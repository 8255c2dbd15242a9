package guestapi

import (
	"context"
	"io"
	"time"

	"paddock/internal/id"
)

// Guest is what the host can ask of a guest. Errors are *fault.Error where the
// guest refused (their code and sentence cross the wire), any other error means
// that the connection failed and the call may be repeated.
type Guest interface {
	// Configure tells the guest its session and agent and starts the agent in
	// the background. The same config again is a no-op; another one is Conflict.
	Configure(ctx context.Context, config Config) error

	// Prompt starts the turn of a run and returns once the guest has it; the
	// agent may still be starting. The same run again is a no-op, also after it
	// ended; a second run while one is active is Conflict.
	Prompt(ctx context.Context, run id.Run, prompt Prompt) error

	// Cancel asks the agent to end the run's turn, then (after a grace the guest
	// knows) kills the turn's process tree. It returns at once; once acked, the
	// turn is reported as cancelled, within 10 s and whatever the agent says. A
	// run whose prompt has not come yet is no_turn, and its prompt will start
	// nothing; one whose turn was over already is ended.
	Cancel(ctx context.Context, run id.Run) (CancelOutcome, error)

	// Answer settles an ask. A key that is unknown or settled is a no-op.
	Answer(ctx context.Context, key string, answer Answer) error

	// StartExec starts a process and returns its progress after at most wait, or
	// when it has ended. The same id again starts nothing. A program that cannot
	// be started is BadRequest with a sentence that says why.
	StartExec(ctx context.Context, exec id.Exec, request ExecRequest, wait time.Duration) (ExecProgress, error)

	// PollExec gives what there is from the two offsets on, waiting up to wait
	// for something new; what lies before the offsets is dropped. An unknown id
	// is NotFound.
	PollExec(ctx context.Context, exec id.Exec, stdout, stderr int64, wait time.Duration) (ExecProgress, error)

	// EndExec kills the exec's process group, if it runs, and forgets the exec.
	EndExec(ctx context.Context, exec id.Exec) error

	// ListFiles lists a folder of the workspace, by name. NotFound, Forbidden
	// when the path leads out of the workspace, BadRequest when it is no folder.
	ListFiles(ctx context.Context, path string) ([]File, error)

	// ReadFile opens a regular file of the workspace at offset; length < 0 means
	// to its end. The caller closes the reader. Errors as ListFiles.
	ReadFile(ctx context.Context, path string, offset, length int64) (File, io.ReadCloser, error)

	// Relieve ends processes that have at least need bytes of memory together,
	// the greatest of whoever uses most, and returns how many once they are
	// gone; each time is told in the history. 0 when there is nothing to end.
	Relieve(ctx context.Context, need int64) (int, error)

	// Drain returns when every report made before the call is acknowledged and
	// the file systems are synced: the guest may be frozen then.
	Drain(ctx context.Context) error
}

// Host is what a guest can ask of the host.
type Host interface {
	// Report hands over a batch and returns when it is durable. Numbers already
	// stored are skipped, a gap or another epoch is Conflict.
	Report(ctx context.Context, batch Batch) (Ack, error)
}
