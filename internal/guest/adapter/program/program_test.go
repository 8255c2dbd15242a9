package program

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/proc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	s := newLines(strings.NewReader("\none\r\n  \n" + long + "\nlast"))
	for _, want := range []string{"one", long, "last"} {
		if got, err := s.next(); err != nil || string(got) != want {
			t.Fatalf("%.20q %v, want %.20q", got, err, want)
		}
	}
	if _, err := s.next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestLinesSkipWhatIsTooLong(t *testing.T) {
	s := &lines{bufio.NewReaderSize(io.MultiReader(io.LimitReader(zeros{}, MaxLine+1), strings.NewReader("\nnext\n")), 64<<10)}
	if start, err := s.next(); !errors.Is(err, errTooLong) || len(start) != 4<<10 {
		t.Fatalf("%d bytes, %v", len(start), err)
	}
	if line, err := s.next(); err != nil || string(line) != "next" {
		t.Errorf("%q %v", line, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

// kept is a handler that keeps what it is given.
type kept struct{ lines, stderr chan string }

func (k kept) Line(line []byte)      { k.lines <- string(line) }
func (k kept) TooLong([]byte, error) {}
func (k kept) Stderr(line string)    { k.stderr <- line }

// began starts a shell script as a program.
func began(t *testing.T, script string) (*Program, kept) {
	t.Helper()
	table := proc.NewTable()
	t.Cleanup(table.Close)
	k := kept{make(chan string, 10), make(chan string, 10)}
	p := New()
	err := p.Start(guest.Services{Spawn: func(argv []string, _ string, files [3]*os.File) (*proc.Process, error) {
		user := proc.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
		return table.Start(proc.Spec{Path: "/bin/sh", Argv: argv, Dir: "/", User: user, Files: files})
	}}, []string{"sh", "-c", script}, "/", k)
	if err != nil {
		t.Fatal(err)
	}
	return p, k
}

func TestProgramTellsItsLastWords(t *testing.T) {
	p, k := began(t, `read line; echo "got $line"; printf '\033[2malas\033[0m\n' >&2; exit 3`)
	p.Send([]byte("hello\n"))
	if got := <-k.lines; got != "got hello" {
		t.Errorf("%q", got)
	}
	<-p.Gone()
	p.Wait()
	if !p.Ended() || p.Err().Error() != "agent exited with code 3: alas" {
		t.Errorf("%v", p.Err())
	}
}

// What a program that was killed has not read is told apart from what it has, and
// from what a child of it may still read.
func TestWhatAProgramHasMissed(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		missed bool // the last message
	}{
		"alone":      {`read -r a; read -r b; echo "got $a $b"; exec sleep 1000`, true},
		"with child": {`exec 3<&0; setsid sh -c 'read -r a <&3; read -r b <&3; echo "got $a $b"; exec sleep 2' & exec sleep 1000`, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, k := began(t, c.script)
			first := p.Send([]byte("one\n"))
			third := p.Send([]byte("two\nthree\n")) // in the pipe once the second was read
			second := third - Mark(len("three\n"))
			if got := <-k.lines; got != "got one two" {
				t.Errorf("%q", got)
			}
			p.Kill()
			if !p.Ended() {
				t.Error("one that was told to end is taken for a living one")
			}
			<-p.Gone()
			late := p.Send([]byte("late\n"))
			p.Wait()
			if p.Missed(first) || p.Missed(second) || p.Missed(third) != c.missed || !p.Missed(late) {
				t.Errorf("missed %v %v %v %v", p.Missed(first), p.Missed(second), p.Missed(third), p.Missed(late))
			}
		})
	}
}

// A child that keeps the pipes does not keep the program's end from being told.
func TestProgramEndsThoughAChildHoldsItsOutput(t *testing.T) {
	p, _ := began(t, `setsid sleep 2 & exit 0`)
	<-p.Gone()
	p.Wait()
}

func TestProgramThatClosesItsOutputIsEnded(t *testing.T) {
	p, _ := began(t, `exec sleep 1000 >&-`)
	<-p.Gone()
	p.Wait()
	if !strings.Contains(p.Err().Error(), "closed its output") {
		t.Error(p.Err())
	}
}

func TestStderrIsBounded(t *testing.T) {
	var b Stderr
	var got []string
	log := func(l event.Log, _ guest.Source) { got = append(got, l.Level) }
	for range maxStderrLines + 5 {
		b.Log("x", log)
	}
	if d := cmp.Diff(append(slicesOf("info", maxStderrLines), "warn"), got); d != "" {
		t.Error(d)
	}
	b.Begin()
	if b.Log("y", log); got[len(got)-1] != "info" {
		t.Error("a new turn may log nothing")
	}
}

func slicesOf(word string, n int) (list []string) {
	for range n {
		list = append(list, word)
	}
	return list
}
