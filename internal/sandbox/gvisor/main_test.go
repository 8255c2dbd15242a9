package gvisor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"paddock/internal/network"
	"paddock/internal/sandbox"
	"paddock/internal/sandbox/sandboxtest"
)

// crashEnv tells this test binary, started by itself, to be a server that is
// killed; its value is a crash.
const crashEnv = "PADDOCK_TEST_CRASH"

// bench holds what all tests share.
var bench struct {
	folder string // of the whole test run, with a long name
	why    string // the driver cannot be tested; empty when it can
}

func TestMain(m *testing.M) {
	if IsRunsc(os.Args) {
		RunRunsc()
	}
	if checkStatic(self) != nil {
		os.Exit(runStatic())
	}
	if text := os.Getenv(crashEnv); text != "" {
		crashed(text)
	}
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	if os.Geteuid() != 0 {
		bench.why = "needs root"
		return m.Run()
	}
	folder, err := os.MkdirTemp("", "paddock-gvisor-")
	if err != nil {
		bench.why = err.Error()
		return m.Run()
	}
	defer os.RemoveAll(folder)
	defer checkGoroutines(&code)
	// Longer than a unix socket's path may be.
	bench.folder = filepath.Join(folder, strings.Repeat("long-", 25)+"name")
	runtime := filepath.Join(bench.folder, "runtime")
	for _, sub := range []string{runtime, filepath.Join(bench.folder, "agents"), filepath.Join(bench.folder, "root")} {
		if err := os.MkdirAll(sub, 0o755); err != nil {
			bench.why = err.Error()
		}
	}
	if err := sandboxtest.BuildGuest(runtime); err != nil {
		bench.why = "build the test guest: " + err.Error()
	}
	if err := makeRoot(filepath.Join(bench.folder, "root")); err != nil {
		bench.why = err.Error()
	}
	return m.Run()
}

// checkGoroutines fails the run when one was left behind.
func checkGoroutines(code *int) {
	if err := goleak.Find(); err != nil && *code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left:", err)
		*code = 1
	}
}

// needSandbox skips a test where no sandbox can be made; where one must be, it
// fails.
func needSandbox(t testing.TB) {
	t.Helper()
	if bench.why == "" {
		return
	}
	if strings.Contains(os.Getenv("PADDOCK_REQUIRE"), "sandbox") {
		t.Fatalf("no sandbox here: %s", bench.why)
	}
	t.Skipf("no sandbox here: %s", bench.why)
}

// makeRoot makes the smallest root that a machine can have.
func makeRoot(root string) error {
	for _, folder := range []string{"proc", "sys", "dev", "etc", "root", "tmp/.X11-unix", "run/paddock", "opt/paddock/bin", "opt/paddock/agents"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky)
}

// quiet is a log that nobody reads.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// smallRoot is a sandbox.Rootfs with one template.
type smallRoot struct{ path string }

func (r smallRoot) Prepare(_ context.Context, template string, _ func(string)) (sandbox.Root, error) {
	if template != "small" {
		return sandbox.Root{}, fmt.Errorf("template %q is unknown, there is: small", template)
	}
	return sandbox.Root{Path: r.path, Fingerprint: "small"}, nil
}

func open(folder, runtime string) (*Driver, error) {
	net, err := network.New(network.Options{Folder: filepath.Join(folder, "netns"), Authority: filepath.Join(folder, "ca"), Connections: 64, Logger: quiet})
	if err != nil {
		return nil, err
	}
	return New(Options{
		Root:          filepath.Join(folder, "sandboxes"),
		RuntimeDir:    filepath.Join(folder, runtime),
		RuntimeDigest: "test",
		AgentsDir:     filepath.Join(folder, "agents"),
		Rootfs:        smallRoot{filepath.Join(folder, "root")},
		Network:       net,
		Logger:        quiet,
	})
}

func mustOpen(t testing.TB, runtime string) *Driver {
	t.Helper()
	needSandbox(t)
	d, err := open(bench.folder, runtime)
	if err != nil {
		t.Fatalf("open driver: %v", err)
	}
	return d
}

// crash is what a server that is killed does before.
type crash struct {
	Folder string
	Spec   sandbox.Spec
	Step   string
	Pause  bool
}

// crashed is that server.
func crashed(text string) {
	die := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var c crash
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		die(err)
	}
	d, err := open(c.Folder, "runtime")
	if err != nil {
		die(err)
	}
	now := func() { unix.Kill(os.Getpid(), unix.SIGKILL) }
	d.passed = func(step string) {
		if step == c.Step && !c.Pause {
			now()
		}
	}
	handle, err := d.Plan(c.Spec)
	if err != nil {
		die(err)
	}
	m, err := d.Start(context.Background(), handle, c.Spec)
	if err != nil {
		die(err)
	}
	if err := m.Pause(context.Background()); err != nil {
		die(err)
	}
	now()
}

func harness(t *testing.T) sandboxtest.Harness {
	needSandbox(t)
	return sandboxtest.Harness{
		Open:     func(t *testing.T) sandbox.Driver { return mustOpen(t, "runtime") },
		Broken:   func(t *testing.T) sandbox.Driver { return mustOpen(t, "agents") }, // no guest in there
		Steps:    startSteps,
		Template: "small",
		Folders:  []string{bench.folder},
		Crash: func(t *testing.T, spec sandbox.Spec, step string, pause bool) {
			t.Helper()
			doc, err := json.Marshal(crash{bench.folder, spec, step, pause})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), crashEnv+"="+string(doc))
			var said strings.Builder
			cmd.Stdout, cmd.Stderr = &said, &said
			// Wait returns when the pipe's other end is closed by all.
			cmd.WaitDelay = 10 * time.Second
			err = cmd.Run()
			if status, ok := cmd.ProcessState.Sys().(interface{ Signaled() bool }); !ok || !status.Signaled() {
				t.Fatalf("the server did not crash: %v: %s", err, said.String())
			}
			if err == exec.ErrWaitDelay {
				t.Fatal("a machine holds the dead server's standard output")
			}
		},
	}
}
