package acp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/proc"
)

// lastWords is how long the output of an agent that has ended is still read: a
// child of it may hold the pipes for ever.
const lastWords = 250 * time.Millisecond

// process is one run of the agent's program.
type process struct {
	*conn
	proc   *proc.Process
	stderr tail
	work   sync.WaitGroup

	// Set while the agent is brought up, before anybody else sees it.
	session      string
	capabilities initializeResult

	counted event.Tokens // by an agent that counts on; only Turn uses it

	mu        sync.Mutex
	replaying bool // updates are the past, told again
	silent    bool // it closed its stdout and was killed for that
}

// handler takes what the agent sends, in order.
type handler interface {
	handle(p *process, f frame)
	malformed(p *process, raw []byte, err error)
	stderrLine(p *process, line string)
}

// startProcess starts the agent's program; the error is a sentence for people.
func startProcess(services guest.Services, argv []string, dir string, h handler) (*process, error) {
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
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
	}
	stdin, stdout, stderr := files[1], files[2], files[4]
	child := [3]*os.File{files[0], files[3], files[5]}
	started, err := services.Spawn(argv, dir, child)
	if err != nil {
		closeAll()
		return nil, err
	}
	for _, f := range child {
		_ = f.Close()
	}
	p := &process{conn: newConn(), proc: started}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdout, h) })
	readers.Go(func() { p.readStderr(stderr, h) })
	p.work.Go(func() { p.write(stdin) })
	p.work.Go(func() { p.watch(&readers, stdin, stdout, stderr) })
	return p, nil
}

// read gives every frame to the handler until the agent's stdout ends.
func (p *process) read(stdout io.Reader, h handler) {
	s := newFrames(stdout)
	for {
		f, err := s.next()
		var malformed *malformedError
		switch {
		case err == nil:
			h.handle(p, f)
		case errors.Is(err, errFrameTooLong), errors.As(err, &malformed):
			h.malformed(p, f.raw, err)
		default:
			p.endSilent()
			return
		}
	}
}

// endSilent ends an agent that has closed its stdout: one that says nothing any
// more is of no use. Mostly it has ended by itself, which is a moment later news.
func (p *process) endSilent() {
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

func (p *process) readStderr(stderr io.Reader, h handler) {
	r := bufio.NewReaderSize(stderr, 4<<10)
	for {
		line, err := r.ReadSlice('\n') // a longer line comes in parts
		if s := strings.TrimRight(string(line), "\r\n"); s != "" {
			p.stderr.add(s)
			h.stderrLine(p, s)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// watch waits for the process's end, then tells everybody who waits for it.
func (p *process) watch(readers *sync.WaitGroup, files ...*os.File) {
	<-p.proc.Done()
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
	p.end(&exitError{how, p.stderr.String()})
}

// close kills the agent and waits for everything that belongs to it.
func (p *process) close() {
	p.proc.KillGroup()
	p.work.Wait()
}

func (p *process) setReplaying(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaying = on
}

func (p *process) isReplaying() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.replaying
}

// exitError says that the agent's process has ended.
type exitError struct {
	how    string // "exited with code 3"
	stderr string
}

func (e *exitError) Error() string {
	if e.stderr == "" {
		return "agent " + e.how
	}
	return "agent " + e.how + ": " + e.stderr
}

// tail keeps the last lines of a stream.
type tail struct {
	mu    sync.Mutex
	lines []string
}

const (
	tailLines = 8
	tailLine  = 512 // bytes
)

func (t *tail) add(line string) {
	if len(line) > tailLine {
		line = line[:tailLine] + "…"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

// String gives the lines, valid as UTF-8.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.Join(t.lines, "\n"), "\uFFFD")
}
