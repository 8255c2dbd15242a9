package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// removalAnswers is how soon a removal is accepted, whatever the session is at;
// it takes milliseconds on a quiet host.
const removalAnswers = 5 * time.Second

// A session may be removed in every state and in the middle of everything: the
// call is answered at once, the name is free then, what was in flight ends, and
// nothing is left on the host.
func TestRemovedInTheMiddle(t *testing.T) {
	s := startServer(t, "--max-active-sessions", "40")
	ask := "permissions: {default: ask}\n"
	for name, c := range map[string]struct {
		spec string
		// begin brings the session to where it is removed; what it starts is done
		// when over returns.
		begin func(s *server, id string, over *sync.WaitGroup)
	}{
		"provisioning": {"agent: demo\n", nil},
		"ready":        {"agent: demo\n", func(*server, string, *sync.WaitGroup) {}},
		"paused":       {"agent: demo\n", func(s *server, id string, _ *sync.WaitGroup) { pause(s, id) }},
		"pausing": {"agent: demo\n", func(s *server, id string, over *sync.WaitGroup) {
			over.Go(func() { s.request(http.MethodPost, "/sessions/"+id+"/pause", "") })
		}},
		"resuming": {"agent: demo\n", func(s *server, id string, over *sync.WaitGroup) {
			pause(s, id)
			over.Go(func() { s.request(http.MethodPost, "/sessions/"+id+"/resume", "") })
		}},
		"run active, others queued": {"agent: demo\n", func(s *server, id string, _ *sync.WaitGroup) {
			run := s.send(id, "slow 500")
			s.send(id, "hello")
			s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
				return e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk
			})
		}},
		"awaiting approval": {"agent: demo\n" + ask, func(s *server, id string, _ *sync.WaitGroup) {
			s.waitAsk(id, s.send(id, "run echo hi"))
		}},
		"pause pending": {"agent: demo\n", func(s *server, id string, _ *sync.WaitGroup) {
			s.send(id, "slow 500")
			s.call(http.MethodPost, "/sessions/"+id+"/pause", nil, http.StatusAccepted, nil)
		}},
		"exec in flight": {"agent: none\n", func(s *server, id string, over *sync.WaitGroup) {
			over.Go(func() {
				if status, body := s.request(http.MethodPost, "/sessions/"+id+"/sandbox/exec", `{"argv":["sh","-c","touch began; sleep 300"],"timeout_seconds":400}`); status != http.StatusBadGateway {
					s.t.Errorf("the exec of a removed session: %d %s", status, body)
				}
			})
			s.waitExec(id, "ls began", "began\n")
		}},
		"exec in flight, frozen": {"agent: none\n", func(s *server, id string, over *sync.WaitGroup) {
			over.Go(func() {
				if status, body := s.request(http.MethodPost, "/sessions/"+id+"/sandbox/exec", `{"argv":["sh","-c","touch began; sleep 300"],"timeout_seconds":400}`); status != http.StatusBadGateway {
					s.t.Errorf("the exec of a removed session: %d %s", status, body)
				}
			})
			s.waitExec(id, "ls began", "began\n")
			pause(s, id)
		}},
		"file in flight": {"agent: none\n", func(s *server, id string, over *sync.WaitGroup) {
			s.sh(id, "truncate -s 1G big")
			reading := make(chan struct{})
			over.Go(func() { s.readUntilCut(id, reading) })
			<-reading
		}},
		"stream open": {"agent: demo\n", func(s *server, id string, over *sync.WaitGroup) {
			st, _, err := s.client().HostedAgents.StreamSession(context.Background(), id, nil)
			if err != nil {
				s.t.Error(err)
				return
			}
			over.Go(func() {
				defer st.Close()
				last := ""
				for st.Next() {
					if e := st.Current(); e.Kind == godo.HostedAgentEventKindSessionUpdated {
						last = payload[struct{ Status string }](s.t, e).Status
					}
				}
				if st.Err() != nil || last != "SESSION_STATUS_DESTROYED" {
					s.t.Errorf("the stream ended with %s, %v", last, st.Err())
				}
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.by(t)
			var over sync.WaitGroup
			sess := s.createNoWait(c.spec)
			if c.begin != nil {
				sess = s.waitStatus(sess.SessionID, godo.HostedAgentSessionStatusReady)
				c.begin(s, sess.SessionID, &over)
			}
			began := time.Now()
			if _, err := s.client().HostedAgents.DestroySession(context.Background(), sess.SessionID); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > removalAnswers {
				t.Errorf("the removal was accepted after %s", took)
			}
			again := s.createNoWait("agent: none\nname: " + sess.Name + "\n") // name and slot are free
			over.Wait()
			gone := s.waitStatus(sess.SessionID, godo.HostedAgentSessionStatusDestroyed)
			if gone.SandboxID != "" {
				s.assertGone(gone.SandboxID)
			}
			assertLog(t, s.history(sess.SessionID))
			s.waitStatus(again.SessionID, godo.HostedAgentSessionStatusReady)
			if _, err := s.client().HostedAgents.DestroySession(context.Background(), again.SessionID); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// readUntilCut reads a large file of the session, which has to end in an error:
// reading is closed once the first bytes are there.
func (s *server) readUntilCut(id string, reading chan<- struct{}) {
	req, err := http.NewRequest(http.MethodGet, "http://"+s.addr+"/v2/harness-runtime/sessions/"+id+"/files/content?path=big", nil)
	if err != nil {
		s.t.Error(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	close(reading)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer resp.Body.Close()
	buf := make([]byte, 64<<10)
	for err == nil {
		<-time.After(time.Millisecond) // slower than it comes
		_, err = resp.Body.Read(buf)
	}
	if fmt.Sprint(err) == "EOF" {
		s.t.Error("a file that was cut off ended like a whole one")
	}
}

// Many sessions are removed at the same moment.
func TestManyRemovedAtOnce(t *testing.T) {
	n := int(number("PADDOCK_TEST_REMOVED", 50))
	s := startServer(t, "--max-active-sessions", fmt.Sprint(n))
	var ids []string
	for i := range n {
		sess := s.createNoWait("agent: none\n")
		ids = append(ids, sess.SessionID)
		if i%10 == 9 { // some are still provisioning when all are removed
			s.waitStatus(ids[i-5], godo.HostedAgentSessionStatusReady)
		}
	}
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			began := time.Now()
			if status, body := s.request(http.MethodDelete, "/sessions/"+id, ""); status != http.StatusNoContent {
				t.Errorf("remove %s: %d %s", id, status, body)
			}
			if took := time.Since(began); took > 2*removalAnswers {
				t.Errorf("the removal was accepted after %s", took)
			}
		})
	}
	all.Wait()
	first := s.createNoWait("agent: none\n") // the slots are free
	for _, id := range ids {
		if sess := s.waitStatus(id, godo.HostedAgentSessionStatusDestroyed); sess.SandboxID != "" {
			s.assertGone(sess.SandboxID)
		}
	}
	s.waitStatus(first.SessionID, godo.HostedAgentSessionStatusReady)
}
