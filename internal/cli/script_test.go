package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"paddock": func() {
			os.Exit(Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, Hooks{
				Version: "v0.0.0-test", Runtime: "gvisor v0",
				Serve: sayServe, Demo: sayDemo, Doctor: sayDoctor,
			}))
		},
	})
}

// TestScripts plays the scripts of testdata/script, each against a server of
// its own that plays the API (see api_test.go).
func TestScripts(t *testing.T) {
	if raceDetector {
		t.Skip("each command is a process of its own, of which the race detector sees nothing, at ten times the cost")
	}
	testscript.Run(t, testscript.Params{
		Dir:      "testdata/script",
		Deadline: time.Now().Add(10 * time.Minute),
		Cmds:     map[string]func(*testscript.TestScript, bool, []string){"code": wantCode},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(env *testscript.Env) error {
			server := httptest.NewServer(newPlayedAPI())
			env.Defer(server.Close)
			env.Setenv("PADDOCK_URL", server.URL)
			env.Setenv("PADDOCK_TOKEN", "secret")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TZ", "UTC")
			return nil
		},
	})
}

// servePlayed serves the played API until the test ends.
func servePlayed(t *testing.T) (url string) {
	server := httptest.NewServer(newPlayedAPI())
	t.Cleanup(server.Close)
	return server.URL
}

// wantCode is `code N COMMAND...`: the command exits with N.
func wantCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	var exit *exec.ExitError
	err := ts.Exec(args[1], args[2:]...)
	if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("%v, want exit code %s", err, args[0])
	}
}
