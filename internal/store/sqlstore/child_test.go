package sqlstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
)

// childVariable makes the test binary a child that writes until it is killed
// into the store in the folder that the variable names.
const childVariable = "SQLSTORE_TEST_CHILD"

const (
	databaseName = "s.db"
	acksName     = "acks" // a line "worker round" for each update that returned nil
	workers      = 6
	commonName   = "common" // the session to which every worker appends
)

// entry is the payload of the child's events.
type entry struct{ Worker, Round int }

// writeForever is the child. A byte on its standard output follows each
// acknowledged update.
func writeForever(folder string) {
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(folder, databaseName), slog.New(slog.DiscardHandler))
	check(err)
	acks, err := os.OpenFile(filepath.Join(folder, acksName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	check(err)
	common := ensureSession(ctx, s, commonName)
	var writing sync.WaitGroup
	for w := range workers {
		own := ensureSession(ctx, s, fmt.Sprint("w", w))
		writing.Go(func() {
			for {
				check(s.Update(ctx, func(tx store.Tx) error { return writeRound(tx, w, &own, common.ID) }))
				_, err := fmt.Fprintln(acks, w, own.Reason)
				check(err)
				_, err = os.Stdout.Write([]byte{'.'})
				check(err)
				if err := s.Update(ctx, func(tx store.Tx) error { return halfRound(tx, own, common.ID) }); !errors.Is(err, errHalf) {
					check(fmt.Errorf("half a round: %w", err))
				}
			}
		})
	}
	writing.Wait()
}

var errHalf = errors.New("half a round is none")

// writeRound writes a round's number into many rows, all or none of them.
func writeRound(tx store.Tx, worker int, own *session.Session, common id.Session) error {
	round, _ := strconv.Atoi(own.Reason)
	round++
	next := *own
	next.Reason = strconv.Itoa(round)
	draft := event.NewDraft(id.Run{}, event.RunLog, entry{worker, round})
	draft.SourceRaw = []byte(next.Reason)
	for range roundEvents(round) {
		if _, err := tx.Append(own.ID, time.Now(), draft); err != nil {
			return err
		}
	}
	run := session.Run{ID: id.New[id.Run](), Session: own.ID, State: session.RunCompleted, Text: next.Reason, CreatedAt: time.Now()}
	if err := tx.SaveRun(run); err != nil {
		return err
	}
	if _, err := tx.Append(common, time.Now(), draft); err != nil {
		return err
	}
	if err := tx.UpdateSession(&next); err != nil {
		return err
	}
	*own = next
	return nil
}

// halfRound begins a round that fails.
func halfRound(tx store.Tx, own session.Session, common id.Session) error {
	if err := tx.UpdateSession(&own); err != nil {
		return err
	}
	if _, err := tx.Append(common, time.Now(), event.Draft{Kind: event.RunFailed}); err != nil {
		return err
	}
	return errHalf
}

// roundEvents is how many events of its own session a round appends.
func roundEvents(round int) int { return 1 + round%3 }

func ensureSession(ctx context.Context, s *Store, name string) (found session.Session) {
	check(s.Update(ctx, func(tx store.Tx) error {
		team, err := tx.EnsureTeam("crash", id.New[id.Team](), time.Now())
		if err != nil {
			return err
		}
		found, err = tx.Session(ctx, team.ID, name)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		found = session.Session{ID: id.New[id.Session](), Team: team.ID, Name: name, State: session.Ready, CreatedAt: time.Now()}
		return tx.CreateSession(found, 0)
	}))
	return found
}

// check ends the child loudly; the parent then misses its bytes.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// child is a running child.
type child struct {
	*exec.Cmd
	acked *bufio.Reader // a byte for each acknowledged update
}

func startChild(t *testing.T, folder string, env ...string) child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), childVariable+"="+folder), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return child{cmd, bufio.NewReader(out)}
}

// await waits for n acknowledged updates.
func (c child) await(t *testing.T, n int) {
	t.Helper()
	if _, err := io.CopyN(io.Discard, c.acked, int64(n)); err != nil {
		t.Fatalf("child ended: %v", err)
	}
}

// checkRounds opens the store in folder and checks that every acknowledged
// round is there, no part of one, and that nothing is damaged. It gives the
// number of rounds.
func checkRounds(t *testing.T, folder string) int {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(folder, databaseName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // only read from
	checkIntegrity(t, s)
	sessions, err := s.Sessions(t.Context(), store.SessionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	rounds := map[int]int{} // by worker
	total := 0
	for _, session := range sessions {
		if w, ok := strings.CutPrefix(session.Name, "w"); ok {
			worker, _ := strconv.Atoi(w)
			rounds[worker] = checkWorker(t, s, session, worker)
			total += rounds[worker]
		}
	}
	for worker, round := range readAcks(t, folder) {
		if rounds[worker] < round {
			t.Errorf("worker %d: round %d was acknowledged, the store has %d", worker, round, rounds[worker])
		}
	}
	for _, session := range sessions {
		if session.Name == commonName {
			checkCommon(t, s, session, rounds, total)
		}
	}
	return total
}

func checkIntegrity(t *testing.T, s *Store) {
	t.Helper()
	var verdict string
	if err := s.read.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity: %q, %v", verdict, err)
	}
	var broken int
	if err := s.read.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pragma_foreign_key_check").Scan(&broken); err != nil || broken != 0 {
		t.Fatalf("foreign keys: %d broken, %v", broken, err)
	}
}

// checkWorker checks that session row, runs and events agree on the last round.
func checkWorker(t *testing.T, s *Store, own session.Session, worker int) int {
	t.Helper()
	round, _ := strconv.Atoi(own.Reason)
	runs, err := s.Runs(t.Context(), store.RunFilter{Session: own.ID})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != round || int(own.Generation) != round {
		t.Errorf("worker %d: round %d, %d runs, generation %d", worker, round, len(runs), own.Generation)
	}
	events := readLog(t, s, own)
	next := 0
	for r := 1; r <= round; r++ {
		for range roundEvents(r) {
			if next >= len(events) || string(events[next].SourceRaw) != strconv.Itoa(r) {
				t.Fatalf("worker %d: event %d is not of round %d", worker, next+1, r)
			}
			next++
		}
	}
	if next != len(events) {
		t.Errorf("worker %d: %d events too many", worker, len(events)-next)
	}
	return round
}

// checkCommon checks that the common history has each round of each worker once.
func checkCommon(t *testing.T, s *Store, common session.Session, rounds map[int]int, total int) {
	t.Helper()
	events := readLog(t, s, common)
	seen := map[int]int{}
	for _, e := range events {
		var got entry
		if err := json.Unmarshal(e.Data, &got); err != nil {
			t.Fatal(err)
		}
		if seen[got.Worker]++; seen[got.Worker] != got.Round || got.Round > rounds[got.Worker] {
			t.Fatalf("common event %d is round %d of worker %d, which has %d", e.Seq, got.Round, got.Worker, rounds[got.Worker])
		}
	}
	if len(events) != total {
		t.Errorf("common history has %d rounds, the workers %d", len(events), total)
	}
}

func readLog(t *testing.T, s *Store, of session.Session) []event.Event {
	t.Helper()
	events, err := s.Events(t.Context(), of.ID, store.EventPage{Raw: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := storetest.CheckLog(of, events); err != nil {
		t.Fatal(err)
	}
	return events
}

// readAcks gives the last acknowledged round of each worker.
func readAcks(t *testing.T, folder string) map[int]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, acksName))
	if err != nil {
		t.Fatal(err)
	}
	acked := map[int]int{}
	for line := range strings.Lines(string(text)) {
		var worker, round int
		if _, err := fmt.Sscan(line, &worker, &round); err != nil {
			t.Fatalf("acks: %q: %v", line, err)
		}
		acked[worker] = round
	}
	return acked
}
