package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// keyed is a transport that names each call, and notes whether the answer was
// one given before.
type keyed struct {
	key      string
	replayed bool
}

func (k *keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Idempotency-Key", k.key)
	response, err := http.DefaultTransport.RoundTrip(r)
	k.replayed = err == nil && response.Header.Get("Idempotency-Replayed") == "true"
	return response, err
}

// named is the public client with a key, which does not try again by itself.
func (s *server) named(key string) (*godo.Client, *keyed) {
	s.t.Helper()
	k := &keyed{key: key}
	c, err := godo.New(&http.Client{Transport: k})
	if err != nil {
		s.t.Fatal(err)
	}
	if c.BaseURL, err = url.Parse("http://" + s.addr + "/"); err != nil {
		s.t.Fatal(err)
	}
	return c, k
}

// The server dies when a create, and then an input, is on the disk and not yet
// answered. The same call again gets the answer to the first.
func TestCallsRepeatedAfterACrash(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ctx := context.Background()
	s.kill()
	s.env = []string{"PADDOCK_FAILPOINT=store.committed"}
	s.start()
	s.waitServing()
	c, k := s.named("create-1")
	create := func() (*godo.HostedAgentSession, error) {
		made, _, err := c.HostedAgents.CreateSessionFromManifest(ctx, []byte("agent: demo\n"), nil)
		return made, err
	}
	if _, err := create(); err == nil {
		t.Fatal("the server lived on")
	}
	<-s.done
	s.restart()
	made, err := create()
	if err != nil || !k.replayed {
		t.Fatalf("the create again: %v, replayed %v", err, k.replayed)
	}
	if made.Status != godo.HostedAgentSessionStatusProvisioning {
		t.Errorf("the first answer said %s?", made.Status)
	}
	if all := s.list(); len(all) != 1 || all[0].SessionID != made.SessionID {
		t.Fatalf("there are %d sessions: %+v", len(all), all)
	}
	id := made.SessionID
	s.waitStatus(id, godo.HostedAgentSessionStatusReady)

	s.kill()
	s.env = []string{"PADDOCK_FAILPOINT=input.stored"}
	s.start()
	s.waitServing()
	c, k = s.named("input-1")
	input := func() (string, error) {
		answer, _, err := c.HostedAgents.SendInput(ctx, id, &godo.HostedAgentSendInputRequest{Text: "hello"})
		if err != nil {
			return "", err
		}
		return answer.RunID, nil
	}
	if _, err := input(); err == nil {
		t.Fatal("the server lived on")
	}
	<-s.done
	s.restart()
	run, err := input()
	if err != nil || !k.replayed {
		t.Fatalf("the input again: %v, replayed %v", err, k.replayed)
	}
	s.waitRun(id, run)
	if again, err := input(); again != run {
		t.Errorf("once more: run %s (%v), the first was %s", again, err, run)
	}
	started := 0
	for _, e := range s.history(id) {
		if e.Kind == godo.HostedAgentEventKindRunStarted {
			started++
		}
	}
	if started != 1 {
		t.Errorf("%d runs were started", started)
	}
}

// execNamed runs a program under a key and gives the answer's status and body.
func (s *server) execNamed(id, key, script string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"argv": []string{"sh", "-c", script}})
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequest("POST", "http://"+s.addr+"/v2/harness-runtime/sessions/"+id+"/sandbox/exec", strings.NewReader(string(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := (&keyed{key: key}).RoundTrip(r)
	if err != nil {
		return "no answer"
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "no answer"
	}
	return fmt.Sprintf("%d %s", response.StatusCode, answer)
}

// A program that is run under a key runs once: whoever repeats the call waits
// for it, also when the server has died meanwhile.
func TestExecUnderAKeyRunsOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: none\n").SessionID
	began := func(n string) {
		t.Helper()
		s.waitExec(id, "cat began | wc -l", n+"\n")
	}
	const script = "echo x >> began; cat fifo"
	s.sh(id, "mkfifo fifo")
	answers := make(chan string, 5)
	for range 3 { // end when the fifo is written to
		go func() { answers <- s.execNamed(id, "one", script) }()
	}
	began("1")
	if got := s.execNamed(id, "one", "true"); !strings.HasPrefix(got, "422 ") {
		t.Errorf("another program under the key: %s", got)
	}
	s.kill()
	for range 3 {
		<-answers // cut
	}
	s.restart()
	for range 2 {
		go func() { answers <- s.execNamed(id, "one", script) }()
	}
	s.sh(id, "echo done > fifo")
	first := <-answers
	if !strings.HasPrefix(first, "200 ") || !strings.Contains(first, `"stdout":"done\n"`) {
		t.Fatalf("after the crash: %s", first)
	}
	for _, again := range []string{<-answers, s.execNamed(id, "one", script)} {
		if again != first {
			t.Errorf("again: %s, the first was %s", again, first)
		}
	}
	began("1")

	// Killed between the decision and the start, it is not known what happened.
	s.kill()
	s.env = []string{"PADDOCK_FAILPOINT=exec.named"}
	s.start()
	s.waitServing()
	if got := s.execNamed(id, "two", script); got != "no answer" {
		t.Fatalf("the server lived on: %s", got)
	}
	<-s.done
	s.restart()
	if got := s.execNamed(id, "two", script); !strings.HasPrefix(got, "409 ") || !strings.Contains(got, "not known") {
		t.Errorf("of an exec without an outcome: %s", got)
	}
	// What was never started leaves its key free.
	for range 2 {
		if got := s.execNamed(id, "three", "exit 0"); !strings.HasPrefix(got, "200 ") {
			t.Errorf("a new key: %s", got)
		}
	}
	began("1")
}
