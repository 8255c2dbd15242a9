package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"paddock/client"
)

// input starts a run whose events depend on the text. Nobody may send before a
// stream is open, unless the text says that it does not care.
func (p *playedAPI) input(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	var q client.InputRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	reader := p.readers[s.SessionID]
	if reader == nil && !strings.Contains(q.Text, "detached") {
		refuse(w, 500, "internal", "input came before a stream was open")
		return
	}
	give(w, map[string]string{"run_id": rid(2)})
	if reader == nil {
		return
	}
	say := func(kind, data string) { reader <- p.event(s.SessionID, rid(2), kind, data) }
	reader <- p.event(s.SessionID, rid(1), "run.token_delta", `{"text":"of another run"}`)
	say("run.started", `{"agent":"demo","text":`+quote(q.Text)+`}`)
	switch word, _, _ := strings.Cut(q.Text, " "); word {
	case "fail":
		say("run.failed", `{"code":1,"message":"the model said no","terminal":true}`)
	case "cancel":
		say("run.failed", `{"code":7,"message":"cancelled by Ann","cancelled":true}`)
	case "ask":
		p.ask(s, say, client.ApprovalDetails{Command: "rm -r build"})
	case "question":
		p.ask(s, say, client.ApprovalDetails{Question: "Which colour?"})
	case "work":
		p.answered["cancel"] = func(string) { say("run.failed", `{"code":7,"message":"cancelled by Ann","cancelled":true}`) }
		say("run.token_delta", `{"text":"working "}`)
	case "hang":
		p.answered["cancel"] = nil // a cancellation is never answered
		say("run.token_delta", `{"text":"working "}`)
	default:
		say("run.token_delta", `{"text":"let me see","is_reasoning":true}`)
		say("run.tool_call_started", `{"tool_call_id":"c1","name":"shell","input":{"command":"ls"}}`)
		say("run.tool_call_completed", `{"tool_call_id":"c1","ok":true,"duration_ms":120,"summary":"a.txt"}`)
		say("run.token_delta", `{"text":"turn 1: "}`)
		say("run.token_delta", `{"text":"hi"}`)
		say("run.completed", `{"total_tokens_in":1,"total_tokens_out":2,"run_cost_micros":0}`)
	}
}

// ask lets a run wait for an answer. The caller holds mu.
func (p *playedAPI) ask(s client.Session, say func(kind, data string), details client.ApprovalDetails) {
	p.pending[s.SessionID] = []client.Approval{{RequestID: hid(3), SessionID: s.SessionID, RunID: rid(2), Details: details}}
	b, err := json.Marshal(map[string]any{"hitl_id": hid(3), "details": details})
	if err != nil {
		panic(err)
	}
	say("run.human_input_requested", string(b))
	p.answered[hid(3)] = func(outcome string) {
		say("run.human_input_received", `{"hitl_id":"`+hid(3)+`","outcome":"`+outcome+`","actor":"Ann"}`)
		say("run.token_delta", `{"text":"so be it\n"}`)
		say("run.completed", `{}`)
	}
}

// event adds to a session's history. The caller holds mu.
func (p *playedAPI) event(session, run, kind, data string) client.Event {
	seq := int64(len(p.events[session]) + 1)
	e := client.Event{
		EventID: fmt.Sprintf("evt_%026d", seq), SessionID: session, RunID: run, Seq: seq, Type: kind,
		Timestamp: time.Date(2026, 11, 30, 12, 0, int(seq), 0, time.UTC), Data: json.RawMessage(data),
	}
	p.events[session] = append(p.events[session], e)
	return e
}

// stream gives a fixed history, or lets input and answers send.
func (p *playedAPI) stream(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": connected\n\n") // stays here until it is flushed
	send := func(e client.Event) {
		b, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", e.EventID, e.Type, b)
		w.(http.Flusher).Flush()
	}
	if r.FormValue("replay_only") == "true" {
		p.mu.Lock()
		for kind, data := range ordered(
			"session.updated", `{"status":"SESSION_STATUS_PROVISIONING"}`,
			"session.updated", `{"status":"SESSION_STATUS_READY"}`,
			"run.started", `{"agent":"demo","text":"say hi"}`,
			"run.token_delta", `{"text":"hi "}`,
			"run.human_input_requested", `{"hitl_id":"hitl_1","details":{"command":"ls"}}`,
			"run.human_input_received", `{"hitl_id":"hitl_1","outcome":"HITL_OUTCOME_REJECT","actor":"Ann","reason":"no"}`,
			"run.completed", `{}`,
			"session.updated", `{"status":"SESSION_STATUS_PAUSED","pause_reason":"idle"}`,
		) {
			send(p.event(s.SessionID, "", kind, data))
		}
		p.mu.Unlock()
		if r.FormValue("before") != "" {
			fmt.Fprint(w, ": has_more=true\n\n")
			return
		}
		fmt.Fprint(w, ": end\n\n")
		return
	}
	// Registered before the client hears that it is connected: it may send then.
	events := make(chan client.Event, 64)
	p.mu.Lock()
	p.readers[s.SessionID] = events
	p.mu.Unlock()
	w.(http.Flusher).Flush()
	for {
		select {
		case e := <-events:
			send(e)
		case <-r.Context().Done():
			return
		}
	}
}

// teamStream gives a fixed history of two sessions, of the types that are asked
// for.
func (p *playedAPI) teamStream(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, ": connected\n\n")
	for i, e := range []client.Event{
		{SessionID: p.sessions["hello"].SessionID, Type: "run.started", Data: json.RawMessage(`{"text":"say hi"}`)},
		{SessionID: p.sessions["nap"].SessionID, Type: "session.updated", Data: json.RawMessage(`{"status":"SESSION_STATUS_READY"}`)},
		{SessionID: "sess_gone", Type: "run.log", Data: json.RawMessage(`{"level":"info","message":"bye"}`)},
		{SessionID: p.sessions["hello"].SessionID, Type: "run.completed", Data: json.RawMessage(`{}`)},
	} {
		e.EventID, e.Seq, e.Timestamp = fmt.Sprintf("evt_%026d", i+1), int64(i+1), time.Date(2026, 11, 30, 12, 0, i+1, 0, time.UTC)
		b, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		if types := r.FormValue("types"); types == "" || strings.Contains(","+types+",", ","+e.Type+",") {
			fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", e.EventID, e.Type, b)
		}
	}
	fmt.Fprint(w, ": end\n\n")
}

// ordered yields pairs.
func ordered(pairs ...string) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for i := 0; i < len(pairs); i += 2 {
			if !yield(pairs[i], pairs[i+1]) {
				return
			}
		}
	}
}

func (p *playedAPI) approvals(w http.ResponseWriter, r *http.Request) {
	if s, ok := p.session(w, r); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		give(w, map[string]any{"approvals": p.pending[s.SessionID]})
	}
}

func (p *playedAPI) teamApprovals(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	if r.URL.Query().Get("page_token") != "" {
		n = 1
	}
	give(w, client.TeamApprovalList{Approvals: p.pending[sid(3)][n : n+1], NextPageToken: []string{"more", ""}[n]})
}

func (p *playedAPI) listGrants(w http.ResponseWriter, r *http.Request) {
	if _, ok := p.session(w, r); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		give(w, map[string]any{"grants": p.grants})
	}
}

func (p *playedAPI) revokeGrant(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants = slices.DeleteFunc(p.grants, func(g client.Grant) bool { return g.GrantID == r.PathValue("g") })
	w.WriteHeader(204)
}

func (p *playedAPI) answer(w http.ResponseWriter, r *http.Request) {
	var q client.AnswerRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[r.PathValue("h")] = q
	if q.ForSession {
		p.grants = []client.Grant{{GrantID: "grant_1", Tool: "shell", Actor: "Ann", GrantedAt: fiveMinutesAgo(), Input: json.RawMessage(`{"command":"ls"}`)}}
	}
	w.Header().Set("X-Played", q.Outcome+" "+q.Reason+" "+fmt.Sprint(q.Content))
	w.WriteHeader(204)
	if goOn := p.answered[r.PathValue("h")]; goOn != nil && q.Outcome != client.OutcomeDefer {
		goOn(q.Outcome)
	}
}

func (p *playedAPI) cancel(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	end, known := p.answered["cancel"]
	p.mu.Unlock()
	if known && end == nil {
		_, _ = io.Copy(io.Discard, r.Body) // else the client's end is not noticed
		<-r.Context().Done()
		return
	}
	if known {
		end("")
		give(w, client.CancelAnswer{SessionID: sid(1), RunID: rid(2), Outcome: "acked"})
		return
	}
	switch s, ok := p.session(w, r); {
	case !ok:
	case s.Run == nil:
		give(w, client.CancelAnswer{SessionID: s.SessionID, Outcome: "no_turn"})
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.runs[s.SessionID] = map[string]client.Run{rid(9): {RunID: rid(9), SessionID: s.SessionID, State: client.RunCancelled, EndedAt: time.Now()}}
		give(w, client.CancelAnswer{SessionID: s.SessionID, RunID: rid(9), Outcome: "acked"})
	}
}

func (p *playedAPI) listRuns(w http.ResponseWriter, r *http.Request) {
	if s, ok := p.session(w, r); ok {
		list := client.RunList{Runs: []client.Run{}}
		for _, run := range p.runs[s.SessionID] {
			list.Runs = append(list.Runs, run)
		}
		give(w, list)
	}
}

func (p *playedAPI) getRun(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	run, ok := p.runs[s.SessionID][r.PathValue("r")]
	if !ok {
		refuse(w, 404, "not_found", "there is no run "+r.PathValue("r"))
		return
	}
	give(w, map[string]any{"run": run})
}
