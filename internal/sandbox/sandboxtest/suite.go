package sandboxtest

import (
	"context"
	"slices"
	"testing"

	"paddock/internal/id"
	"paddock/internal/sandbox"
)

// Harness is what the suite needs to know of a driver under test. A test run
// has its own folders; all its drivers share them.
type Harness struct {
	// Open makes a driver; once more, it is the driver of a restarted server.
	Open func(t *testing.T) sandbox.Driver
	// Broken makes a driver whose machines fail late in Start.
	Broken func(t *testing.T) sandbox.Driver
	// Crash does spec's Plan and Start in another process, then, where the
	// machine is up, runs Pause if pause says so, and kills that process by
	// SIGKILL after step of Start. It returns when nobody holds the process's
	// standard output any more.
	Crash func(t *testing.T, spec sandbox.Spec, step string, pause bool)
	// Steps are the steps of Start at which Crash can kill, the last one being
	// that the machine runs.
	Steps []string
	// Template is what specs name.
	Template string
	// Folders are where files of machines may be.
	Folders []string
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"Plan changes nothing", planIsPure},
		{"Start gives a machine whose guest dials and knows the secret", start},
		{"Start gives the machine its identity", identity},
		{"Claim gives a machine of nobody its owner", claim},
		{"a machine of nobody is recovered and claimed", claimRecovered},
		{"Start keeps the agent small", leastPrivilege},
		{"Start of a handle that runs is refused", startTwice},
		{"Start that fails is undone", failedStart},
		{"Start that is given up is undone", abandonedStart},
		{"Pause stops the processes and Resume goes on with them", pauseResume},
		{"Continue lets a stopped guest go on", stoppedGuest},
		{"SaveFiles gives what another machine starts with", saveFiles},
		{"SaveFiles leaves a paused machine paused", saveFilesPaused},
		{"Start refuses files that are not whole", brokenFiles},
		{"verbs on one machine take turns", turns},
		{"Stats reads the use of the host", stats},
		{"Done says that the machine was killed", killed},
		{"Done says that the first process ended", firstProcessEnds},
		{"MemoryAlarm tells of memory that fills", memoryAlarm},
		{"a machine that is out of memory is flagged", outOfMemory},
		{"Recover finds the machine after Close", recoverClosed},
		{"Recover finds the machine after the server's death", recoverCrashed},
		{"Destroy leaves nothing and may be called again", destroy},
		{"Destroy removes what a killed server has half made", destroyHalfMade},
		{"Leftovers lists every machine", leftovers},
		{"many machines at once", concurrent},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Cleanup(func() { // the last one, after all machines are destroyed
				if left := zombies(t); len(left) > 0 {
					t.Errorf("ended children were not collected: %v", left)
				}
			})
			test.run(t, h)
		})
	}
}

// spec is a new machine's.
func (h Harness) spec() sandbox.Spec {
	return sandbox.Spec{
		ID:       id.New[id.Sandbox]().String(),
		Session:  id.New[id.Session]().String(),
		Hostname: "quiet-otter",
		Template: h.Template,
		Size:     sandbox.Size{Slug: "test", VCPUs: 1, MemoryMB: 256, Pids: 128},
	}
}

// start plans and starts a machine, which the test's end destroys.
func (h Harness) start(t *testing.T, d sandbox.Driver, spec sandbox.Spec) sandbox.Machine {
	t.Helper()
	handle, err := d.Plan(spec)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	h.destroyLater(t, d, handle)
	m, err := d.Start(t.Context(), handle, spec)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// destroyLater lets the test's end destroy the machine and look for traces.
func (h Harness) destroyLater(t *testing.T, d sandbox.Driver, handle sandbox.Handle) {
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := d.Destroy(context.WithoutCancel(t.Context()), handle); err != nil {
			t.Errorf("destroy: %v", err)
		}
		h.wantNone(t, handle.ID)
	})
}

func (h Harness) wantNone(t *testing.T, id string) {
	t.Helper()
	if left := Traces(t, id, h.Folders...); len(left) > 0 {
		t.Errorf("the host still has of %s: %q", id, left)
	}
}

func (h Harness) lists(t *testing.T, d sandbox.Driver, id string) bool {
	t.Helper()
	handles, err := d.Leftovers(t.Context())
	if err != nil {
		t.Fatalf("leftovers: %v", err)
	}
	return slices.ContainsFunc(handles, func(handle sandbox.Handle) bool { return handle.ID == id })
}
