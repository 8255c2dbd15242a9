package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// mute opens a call and never reads its answer.
func (s *server) mute(path string) net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_, err = fmt.Fprintf(conn, "GET /v2/harness-runtime%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, token)
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// underWay starts an exec that runs until it is ended, and gives its outcome.
func (s *server) underWay(id string) <-chan string {
	s.t.Helper()
	const body = `{"argv":["sh","-c","touch began; exec sleep 1000"],"timeout_seconds":1000}`
	// Not by the public client, which tries again after a 5xx.
	r, err := http.NewRequest("POST", "http://"+s.addr+"/v2/harness-runtime/sessions/"+id+"/sandbox/exec", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	done := make(chan string, 1)
	go func() { // ends with the exec
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			done <- "no answer"
			return
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		done <- fmt.Sprintf("%d %s %v", resp.StatusCode, answer, err)
	}()
	s.waitExec(id, "ls began", "began\n")
	return done
}

func TestStopUnderCalls(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	exec := s.underWay(id)
	for range 5 {
		s.mute("/sessions/" + id + "/events")
	}
	lines, resp := s.raw(context.Background(), id, "", http.Header{})
	defer resp.Body.Close()
	until(t, lines, "live")
	s.stop() // asserts that it takes less than 10 s
	if got := <-exec; got != "no answer" && !strings.HasPrefix(got, "503 ") {
		t.Errorf("a command under way when the server stopped was answered with %s", got)
	}
	for lines.Scan() {
		if strings.Contains(lines.Text(), "destroy") {
			t.Errorf("the stream said %q", lines.Text())
		}
	}
	s.restart()
	if got := s.sh(id, "echo still here"); got != "still here\n" {
		t.Errorf("after the restart: %q", got)
	}
}

func TestRemovalUnderCalls(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: none\n").SessionID
	exec := s.underWay(id)
	lines, resp := s.raw(context.Background(), id, "", http.Header{})
	defer resp.Body.Close()
	until(t, lines, "live")
	if _, err := s.client().HostedAgents.DestroySession(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	if got := <-exec; !strings.HasPrefix(got, "502 ") || !strings.Contains(got, "sandbox lost") {
		t.Errorf("a command in a removed sandbox was answered with %s", got)
	}
	until(t, lines, "SESSION_STATUS_DESTROYED")
	for lines.Scan() { // the stream ends by itself
	}
}

// What create answers is what is read later, to the last digit.
func TestCreateAnswersWhatIsStored(t *testing.T) {
	s := startServer(t)
	made := s.createNoWait("agent: none\n")
	if got := s.get(made.SessionID); !got.CreatedAt.Equal(made.CreatedAt) {
		t.Errorf("created at %s, then at %s", made.CreatedAt, got.CreatedAt)
	}
}

// Slots and names are given once, however many ask at the same time.
func TestManyCreatesAtOnce(t *testing.T) {
	s := startServer(t, "--max-active-sessions", "3")
	var wg sync.WaitGroup
	answers := make(chan string, 40)
	for i := range 20 {
		wg.Go(func() {
			_, resp, err := s.client().HostedAgents.CreateSessionFromManifest(context.Background(), fmt.Appendf(nil, "agent: none\nname: s-%d\n", i/2), nil)
			switch {
			case err == nil:
				answers <- "created"
			case resp == nil:
				answers <- err.Error()
			default:
				answers <- fmt.Sprint(resp.StatusCode)
			}
		})
	}
	wg.Wait()
	close(answers)
	counts := map[string]int{}
	for a := range answers {
		counts[a]++
	}
	if counts["created"] != 3 || counts["409"] != 17 {
		t.Errorf("answers were %v", counts)
	}
	for _, sess := range s.list() { // at once, mostly while they are provisioning
		if _, err := s.client().HostedAgents.DestroySession(context.Background(), sess.SessionID); err != nil {
			t.Error(err)
		}
	}
	s.createNoWait("agent: none\nname: s-1\n") // slot and name are free
}

func (s *server) list() []godo.HostedAgentSession {
	s.t.Helper()
	list, _, err := s.client().HostedAgents.ListSessions(context.Background(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Sessions
}

// Readers who read nothing hold up neither runs nor other readers.
func TestMuteReaders(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\npermissions: {default: allow}\n").SessionID
	for range 100 {
		s.mute("/sessions/" + id + "/events?include_raw=true")
	}
	lines, resp := s.raw(context.Background(), id, "", http.Header{})
	defer resp.Body.Close()
	began := time.Now()
	run := s.send(id, "run head -c 300000 /dev/urandom | base64")
	until(t, lines, "run.completed")
	s.waitRun(id, run)
	s.sh(id, "true")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("beside mute readers a run took %s", took)
	}
}
