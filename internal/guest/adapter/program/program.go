package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"paddock/internal/guest"
	"paddock/internal/guest/proc"
)

// lastWords is how long the output of an agent that has ended is still read: a
// child of it may hold the pipes for ever.
const lastWords = 250 * time.Millisecond

// Handler takes what the program says: the lines of its output one after the
// other, those of its stderr, too.
type Handler interface {
	// Line takes a line of the output, without its end and never empty. Its
	// memory is the handler's.
	Line(line []byte)

	// TooLong takes the beginning of a line that was skipped, and why.
	TooLong(start []byte, err error)

	// Stderr takes a line of stderr, or a part of a long one.
	Stderr(line string)
}

// Program is one run of an agent's program.
type Program struct {
	queue  queue
	stderr tail
	proc   *proc.Process
	work   sync.WaitGroup

	gone chan struct{}
	err  error // set before gone is closed, as is
	got  int64 // how much of its input it may have read

	mu     sync.Mutex
	silent bool // it closed its output and was killed for that
}

// New makes a Program that is not started; it takes messages already.
func New() *Program { return &Program{queue: newQueue(), gone: make(chan struct{})} }

// Start starts the program, once. The error is a sentence for people; then
// nothing runs.
func (p *Program) Start(services guest.Services, argv []string, dir string, h Handler) error {
	var files [6]*os.File // read and write ends of stdin, stdout, stderr
	closeAll := func() {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}
	for i := 0; i < len(files); i += 2 {
		var err error
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			closeAll()
			return fmt.Errorf("make a pipe: %w", err)
		}
	}
	stdin, stdout, stderr := files[1], files[2], files[4]
	child := [3]*os.File{files[0], files[3], files[5]}
	started, err := services.Spawn(argv, dir, child)
	if err != nil {
		closeAll()
		return err
	}
	for _, f := range child {
		_ = f.Close()
	}
	p.proc = started
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdout, h) })
	readers.Go(func() { p.readStderr(stderr, h) })
	written := make(chan struct{})
	p.work.Go(func() {
		defer close(written)
		p.queue.write(stdin, started.Done(), p.Ended)
	})
	p.work.Go(func() {
		<-started.Done()
		_ = stdin.SetWriteDeadline(time.Now()) // a pipe has deadlines
		<-written
		p.got = p.queue.given - unread(stdin)
		p.watch(&readers, stdin, stdout, stderr)
	})
	return nil
}

// Mark is where a message to the program ends.
type Mark int64

// Send puts a message, with its newline, into the queue to the program. It never
// waits.
func (p *Program) Send(line []byte) Mark { return Mark(p.queue.add(line)) }

// Missed says, once the program is gone, whether it is certain that it has not
// read a message to its end.
func (p *Program) Missed(m Mark) bool { return p.got < int64(m) }

// Gone is closed when the program has ended and all that it said was handled.
func (p *Program) Gone() <-chan struct{} { return p.gone }

// Err says, once it is gone, how it ended: an *ExitError.
func (p *Program) Err() error { return p.err }

// Ended says whether its process has ended, or was killed and is about to; what
// it said may still be read.
func (p *Program) Ended() bool { return p.proc.Dying() }

// Kill ends the program's process group.
func (p *Program) Kill() { p.proc.KillGroup() }

// Wait returns when the program is gone and nothing of it runs any more.
func (p *Program) Wait() { p.work.Wait() }

// read gives every line to the handler until the program's output ends.
func (p *Program) read(stdout io.Reader, h Handler) {
	s := newLines(stdout)
	for {
		line, err := s.next()
		switch {
		case err == nil:
			h.Line(line)
		case errors.Is(err, errTooLong):
			h.TooLong(line, err)
		default:
			p.endSilent()
			return
		}
	}
}

// endSilent ends a program that has closed its output: an agent that says
// nothing any more is of no use. Mostly it has ended by itself, which is a
// moment later news.
func (p *Program) endSilent() {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-p.proc.Done():
	case <-timer.C:
		p.mu.Lock()
		p.silent = true
		p.mu.Unlock()
		p.proc.KillGroup()
	}
}

// watch tells everybody who waits for it that the process has ended, once what
// it said was handled.
func (p *Program) watch(readers *sync.WaitGroup, files ...*os.File) {
	silent := make(chan struct{})
	p.work.Go(func() {
		readers.Wait()
		close(silent)
	})
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-silent:
	case <-timer.C:
	}
	for _, f := range files {
		_ = f.Close()
	}
	<-silent
	p.mu.Lock()
	how := p.proc.Exit().String()
	if p.silent {
		how = "closed its output, and was ended"
	}
	p.mu.Unlock()
	p.err = &ExitError{how, p.stderr.String()}
	close(p.gone)
}

// ExitError says that the agent's process has ended.
type ExitError struct {
	how    string // "exited with code 3"
	stderr string
}

func (e *ExitError) Error() string {
	if e.stderr == "" {
		return "agent " + e.how
	}
	return "agent " + e.how + ": " + e.stderr
}
