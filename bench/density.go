package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"paddock/client"
	"paddock/e2e/host"
)

// idleTime is how long an idle server is watched.
const idleTime = 20 * time.Second

// measureDensity makes many sessions and says what they cost when nothing
// happens, and how long a killed server takes to be back for all of them.
func measureDensity(ctx context.Context, s *server, n int, out io.Writer) error {
	before, err := memoryAvailable()
	if err != nil {
		return err
	}
	say("making %d sessions", n)
	sessions, made, err := s.makeSessions(ctx, n)
	if err != nil {
		return err
	}
	after, err := memoryAvailable()
	if err != nil {
		return err
	}
	say("killing the server")
	if err := s.kill(); err != nil {
		return err
	}
	began := time.Now()
	if err := s.start(ctx); err != nil {
		return err
	}
	served := time.Since(began)
	// A machine answers once its guest has found the new server.
	err = eachOf(ctx, sessions, func(ctx context.Context, id string) error {
		_, err := s.api.ListFiles(ctx, id, "")
		return err
	})
	if err != nil {
		return fmt.Errorf("ask machines after the restart: %w", err)
	}
	adopted := time.Since(began)

	say("watching %s of quiet", idleTime)
	server := s.cmd.Process.Pid
	machines := host.Tree(host.Processes(s.dataDir() + "/sandboxes")...)
	serverTicks, machineTicks := host.Ticks(server), host.Ticks(machines...)
	select {
	case <-time.After(idleTime):
	case <-ctx.Done():
		return ctx.Err()
	}
	serverTicks, machineTicks = host.Ticks(server)-serverTicks, host.Ticks(machines...)-machineTicks
	resident, err := residentMemory(server)
	if err != nil {
		return err
	}
	began = time.Now()
	if err := s.removeAll(ctx); err != nil {
		return err
	}
	removed := time.Since(began)

	fmt.Fprintf(out, "\n%d sessions\n", n)
	for _, row := range []struct{ what, value string }{
		{"made, " + strconv.Itoa(atOnce) + " at once, all ready", made.Round(time.Millisecond).String()},
		{"memory of the host, each", mebibytes((before - after) / int64(n))},
		{"killed server: until calls are served", served.Round(time.Millisecond).String()},
		{"killed server: until every machine has answered", adopted.Round(time.Millisecond).String()},
		{"idle: processor time of the server", percent(serverTicks)},
		{"idle: processor time of all machines", percent(machineTicks)},
		{"idle: memory of the server", mebibytes(resident)},
		{"all removed", removed.Round(time.Millisecond).String()},
	} {
		fmt.Fprintf(out, "  %-50s %s\n", row.what, row.value)
	}
	return nil
}

// makeSessions makes n sessions and returns when all are ready.
func (s *server) makeSessions(ctx context.Context, n int) (ids []string, took time.Duration, err error) {
	ids = make([]string, n)
	began := time.Now()
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	err = eachOf(ctx, numbers, func(ctx context.Context, i int) error {
		sess, err := s.api.CreateSession(ctx, []byte(spec+"idle_timeout: 24h\n"), client.CreateOptions{})
		if err != nil {
			return err
		}
		ids[i] = sess.SessionID
		return s.waitReady(ctx, sess.SessionID)
	})
	return ids, time.Since(began), err
}

// percent is the share of one processor that ticks (1/100 s) are of idleTime.
func percent(ticks int64) string {
	return fmt.Sprintf("%.1f %% of one processor", float64(ticks)/idleTime.Seconds())
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// memoryAvailable is MemAvailable of /proc/meminfo, in bytes.
func memoryAvailable() (int64, error) { return memoryField("/proc/meminfo", "MemAvailable:") }

// residentMemory is VmRSS of a process, in bytes.
func residentMemory(pid int) (int64, error) {
	return memoryField("/proc/"+strconv.Itoa(pid)+"/status", "VmRSS:")
}

// memoryField reads a field of "name number kB" lines, in bytes.
func memoryField(path, name string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, name)
}
