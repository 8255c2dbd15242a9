package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// That nothing is left of removed sessions is asserted for every test when its
// server is cleaned up; here the server and the machines die in bad moments.

// The server is killed at moments that no failpoint names, spread over the time
// that each verb takes. The next server goes on, and everything can be removed.
func TestServerKilledAtAnyMoment(t *testing.T) {
	// Plain calls: the public client would try again for half a minute.
	verbs := map[string]func(s *server, id string){
		"create": func(s *server, _ string) { s.poke(http.MethodPost, "/sessions", "agent: demo\n") },
		"pause":  func(s *server, id string) { s.poke(http.MethodPost, "/sessions/"+id+"/pause", "") },
		"resume": func(s *server, id string) {
			s.poke(http.MethodPost, "/sessions/"+id+"/pause", "")
			s.poke(http.MethodPost, "/sessions/"+id+"/resume", "")
		},
		"remove": func(s *server, id string) { s.poke(http.MethodDelete, "/sessions/"+id, "") },
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each has a server of its own
			s := startServer(t)
			for _, after := range []time.Duration{3, 15, 60} {
				id := s.create("agent: demo\n").SessionID
				done := make(chan struct{})
				go func() {
					defer close(done)
					verb(s, id)
				}()
				<-time.After(after * time.Millisecond) // the moment is the test
				s.kill()
				<-done
				s.restart()
				got := s.get(id)
				if got.Status == godo.HostedAgentSessionStatusReady || got.Status == godo.HostedAgentSessionStatusPaused {
					if out := s.sh(id, "echo alive"); out != "alive\n" {
						t.Errorf("killed after %d ms: %q", after, out)
					}
				} else if name != "remove" {
					t.Errorf("killed %d ms after %s began: the session is %s", after, name, got.Status)
				}
				s.removeAll()
			}
		})
	}
}

// poke makes a call whose outcome nobody cares for.
func (s *server) poke(method, path, spec string) {
	req, err := http.NewRequest(method, "http://"+s.addr+"/v2/harness-runtime"+path, strings.NewReader(spec))
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+token)
	switch {
	case strings.HasPrefix(spec, "{"):
		req.Header.Set("Content-Type", "application/json")
	case spec != "":
		req.Header.Set("Content-Type", "application/yaml")
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

// One of a machine's two host processes is killed, with the server up and with
// it down: the session comes back with its files, and nothing is left of the half.
func TestHalfAMachineKilled(t *testing.T) {
	for _, part := range []string{"runsc-sandbox", "runsc-gofer"} {
		for _, up := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, server up %v", part, up), func(t *testing.T) {
				t.Parallel() // each has a server of its own
				s := startServer(t)
				sess := s.savedSession("agent: demo\n")
				if !up {
					s.kill()
				}
				killed := 0
				for _, pid := range host.Processes(sess.SandboxID) {
					line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
					if strings.HasPrefix(string(line), part) {
						_ = syscall.Kill(pid, syscall.SIGKILL)
						killed++
					}
				}
				if killed == 0 {
					t.Fatalf("there is no %s", part)
				}
				if !up {
					s.restart()
				}
				memory := "lost:killed"
				if !up {
					memory = "lost:gone"
				}
				s.wantBack(sess, memory)
			})
		}
	}
}
