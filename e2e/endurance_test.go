package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// How long a conversation is, how often it pauses, and how long all of that may
// take.
const (
	manyTurns  = 50
	everyTurns = 5 // a pause
	endurance  = 3 * time.Minute
)

// A long conversation with many pauses goes on as one, and over connections that
// the model has closed meanwhile.
func TestEndurance(t *testing.T) {
	needDialers(t)
	for _, agent := range realAgents {
		t.Run(agent.name, func(t *testing.T) {
			st := newStage(t, agent)
			began := time.Now()
			id := st.enter("permissions: {default: allow}\n").SessionID
			agentThen := ""
			_, before := st.far.model.connections()
			for n := 1; n <= manyTurns; n++ {
				text := fmt.Sprintf("this is turn %d", n)
				if n%10 == 3 {
					text = fmt.Sprintf("RUN: echo in turn %d", n)
				}
				_, said := st.wantCompleted(id, text)
				if want := fmt.Sprintf("turn %d", n); !strings.Contains(said, want) || n > 1 && strings.Contains(said, "reply 1: ") {
					t.Fatalf("in turn %d the agent said %q", n, said)
				}
				if n%everyTurns == 0 {
					st.pauseAway(id)
				}
				if n == 1 {
					agentThen = st.sh(id, st.agentPids())
				}
				if took := time.Since(began); took > endurance {
					t.Fatalf("%d turns took %v", n, took)
				}
			}
			st.outlives(id)
			now := st.sh(id, st.agentPids())
			if slices.ContainsFunc(strings.Fields(agentThen), func(pid string) bool { return !slices.Contains(strings.Fields(now), pid) }) {
				t.Errorf("the agent was restarted: it is %q, was %q", now, agentThen)
			}
			// Its whole past is what the model is asked with.
			if st.far.model.heard("this is turn 1\"", fmt.Sprintf("this is turn %d", manyTurns)) == 0 {
				t.Error("the model was not told the whole conversation")
			}
			if _, all := st.far.model.connections(); all-before < manyTurns/everyTurns {
				t.Errorf("%d connections over %d pauses: none died meanwhile", all-before, manyTurns/everyTurns)
			}
			events := st.history(id)
			assertLog(t, events)
			completed := 0
			for _, e := range events {
				if e.Kind == godo.HostedAgentEventKindRunCompleted {
					completed++
				}
			}
			if completed != manyTurns+1 {
				t.Errorf("%d runs are complete, want %d", completed, manyTurns+1)
			}
			t.Logf("%d turns with %d pauses took %v", completed, manyTurns/everyTurns, time.Since(began).Round(time.Millisecond))
		})
	}
}
