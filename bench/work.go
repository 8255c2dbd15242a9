package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"paddock/client"
)

// workSamples bounds the samples of a piece of work, each a second or so.
const workSamples = 7

//go:embed work.sh
var workScript string

// pieces are the work that is compared. Each is a line of bash in the folder
// that work.sh has filled; before is not timed.
var pieces = []struct{ name, before, line string }{
	{"python3 starts, 10 times", ":", `for i in 1 2 3 4 5 6 7 8 9 10; do /usr/bin/python3 -c pass; done`},
	{"git status, 1,000 files", ":", `git -C repo status --short`},
	{"git clone, 1,000 files", "rm -rf copy", `git clone -q --no-hardlinks repo copy`},
	{"cc of 50 files", "rm -f src/*.o", `cd src && for f in *.c; do /usr/bin/cc -O1 -c $f; done`},
	{"npm ci, 20 packages", "rm -rf app/node_modules", `cd app && npm ci --silent --offline --no-audit --no-fund`},
	{"npm test, 20 tests", ":", `cd app && npm test --silent`},
}

// place is somewhere to work: run does a line of bash in the folder of the
// material and gives what it wrote to its error output.
type place struct {
	name string
	run  func(ctx context.Context, line string, stdin []byte) (stderr string, err error)
}

// measureWork does the same work on the bare host, in a container of runc, in a
// session and by the agent of one, taking turns.
func measureWork(ctx context.Context, s *server, o options, out io.Writer) (err error) {
	say("preparing work")
	material, err := makeMaterial(ctx, filepath.Join(s.dir, "material"))
	if err != nil {
		return fmt.Errorf("prepare work: %w", err)
	}
	bare, err := hostPlace(filepath.Join(s.dir, "bare"))
	if err != nil {
		return err
	}
	places := []place{bare}
	for _, of := range []struct {
		spec  string
		place func(id string) place
	}{{"agent: none\n", s.sessionPlace}, {"agent: demo\npermissions: {default: allow}\n", s.agentPlace}} {
		sess, err := s.api.CreateSession(ctx, []byte(of.spec+"size: medium\n"), client.CreateOptions{})
		if err != nil {
			return err
		}
		if err := s.waitReady(ctx, sess.SessionID); err != nil {
			return err
		}
		places = append(places, of.place(sess.SessionID))
	}
	container, err := startContainer(ctx, filepath.Join(s.dir, "runc"), o.templates)
	switch {
	case err != nil:
		fmt.Fprintf(out, "\nwork: not compared with runc: %v\n", err)
	default:
		defer container.close()
		places = append(places, place{"runc", container.run})
	}
	for _, p := range places {
		if stderr, err := p.run(ctx, "tar xz --no-same-owner", material); err != nil {
			return fmt.Errorf("bring work to %s: %w: %s", p.name, err, stderr)
		}
	}
	var t table
	for range min(o.n, workSamples) {
		for _, piece := range pieces {
			for _, p := range places {
				d, err := p.timed(ctx, piece.before, piece.line)
				if err != nil {
					return fmt.Errorf("%s in %s: %w", piece.name, p.name, err)
				}
				t.add(piece.name+" "+p.name, 0, d)
			}
		}
	}
	printWork(out, &t, places)
	return nil
}

// makeMaterial gives the folder that work.sh makes, as a compressed archive.
func makeMaterial(ctx context.Context, dir string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	p, err := hostPlace(dir)
	if err != nil {
		return nil, err
	}
	if stderr, err := p.run(ctx, workScript, nil); err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr)
	}
	return exec.CommandContext(ctx, "tar", "cz", "-C", dir, ".").Output()
}

// timed does before and then line, and gives how long line took by the clock of
// the place.
func (p place) timed(ctx context.Context, before, line string) (time.Duration, error) {
	stderr, err := p.run(ctx, before+"\nTIMEFORMAT='took %3R'; time { "+line+"\n} >/dev/null", nil)
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, stderr)
	}
	_, took, ok := strings.Cut(stderr, "took ")
	if !ok {
		return 0, fmt.Errorf("no time in %q", stderr)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(took), 64)
	return time.Duration(seconds * float64(time.Second)), err
}

// workEnv is the same everywhere.
var workEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8"}

// hostPlace is a folder of the bare host.
func hostPlace(dir string) (place, error) {
	return place{"host", func(ctx context.Context, line string, stdin []byte) (string, error) {
		return runQuiet(ctx, dir, stdin, "/bin/bash", "-ec", line)
	}}, os.MkdirAll(dir, 0o755)
}

func runQuiet(ctx context.Context, dir string, stdin []byte, argv ...string) (stderr string, err error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = dir, workEnv, bytes.NewReader(stdin), &said
	err = cmd.Run()
	return tail(said.String()), err
}

// tail is the end of a long text, for messages.
func tail(text string) string { return text[max(0, len(text)-500):] }

// sessionPlace is the workspace of a session.
func (s *server) sessionPlace(id string) place {
	return place{"session", func(ctx context.Context, line string, stdin []byte) (string, error) {
		const timeout = 300
		env := map[string]string{}
		for _, e := range workEnv {
			name, value, _ := strings.Cut(e, "=")
			env[name] = value
		}
		result, err := s.api.Exec(ctx, id, client.ExecRequest{
			Argv: []string{"/bin/bash", "-ec", line}, Stdin: stdin, TimeoutSeconds: timeout, Env: env,
		})
		if err == nil && result.ExitCode != 0 {
			err = fmt.Errorf("exit code %d", result.ExitCode)
		}
		return tail(result.Stderr), err
	}}
}

// agentPlace is the workspace of a session whose agent does the work, in a turn.
func (s *server) agentPlace(id string) place {
	session := s.sessionPlace(id)
	turn := "run exec env -i " + strings.Join(workEnv, " ") + " /bin/bash -e /tmp/line 2> /tmp/said"
	return place{"agent", func(ctx context.Context, line string, stdin []byte) (string, error) {
		if stdin != nil {
			return session.run(ctx, line, stdin)
		}
		if said, err := session.run(ctx, "cat > /tmp/line", []byte(line)); err != nil {
			return said, err
		}
		if _, err := s.flood(ctx, id, turn); err != nil {
			return "", err
		}
		return session.run(ctx, "cat /tmp/said >&2", nil)
	}}
}

// printWork prints medians and how they compare.
func printWork(out io.Writer, t *table, places []place) {
	median := func(piece, place string) time.Duration {
		for _, s := range t.rows {
			if s.name == piece+" "+place {
				return s.quantile(0.5)
			}
		}
		return 0
	}
	ratio := func(a, b time.Duration) string {
		if a == 0 || b == 0 {
			return "–"
		}
		return fmt.Sprintf("%.1f", float64(a)/float64(b))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nwork, medians in ms of %d\thost\trunc\tsession\tagent\trunc/host\tsession/host\tsession/runc\tagent/runc\t\n", len(t.rows[0].of))
	for _, piece := range pieces {
		host, runc, session, agent := median(piece.name, "host"), median(piece.name, "runc"), median(piece.name, "session"), median(piece.name, "agent")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", piece.name, ms(host), ms(runc), ms(session), ms(agent),
			ratio(runc, host), ratio(session, host), ratio(session, runc), ratio(agent, runc))
	}
	_ = w.Flush()
}
