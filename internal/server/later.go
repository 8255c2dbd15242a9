package server

import (
	"net/http"
	"strings"
)

// laterRoute is a public call that this release does not serve yet.
type laterRoute struct {
	method, path string // below the prefix
	what         string // begins the sentence "… is not supported yet"
	boundary     bool   // refused first while a run is active
}

// unserved is what the public protocol has and the API does not serve yet.
var unserved = []laterRoute{
	{"POST", "/sessions/{session}/request", "relaying native frames", false},
	{"GET", "/sessions/{session}/sandbox/exec/stream", "exec with a terminal", false},
	{"POST", "/sessions/{session}/workspace/upload", "uploading", false},
	{"GET", "/sessions/{session}/workspace/download", "downloading", false},
	{"POST", "/sessions/{session}/workspace/transfers", "staging transfers", false},
	{"GET", "/sessions/{session}/workspace/transfers/{transfer}", "staging transfers", false},
	{"POST", "/sessions/{session}/workspace/transfers/{transfer}/part-upload-urls", "staging transfers", false},
	{"POST", "/sessions/{session}/workspace/transfers/{transfer}/commit", "staging transfers", false},
	{"POST", "/sessions/{session}/workspace/transfers/{transfer}/cancel", "staging transfers", false},
	{"GET", "/sessions/{session}/port-forward/{port}", "port forwarding", false},
	{"POST", "/sessions/{session}/checkpoints", "making checkpoints", true},
	{"GET", "/sessions/{session}/checkpoints", "making checkpoints", false},
	{"GET", "/sessions/{session}/checkpoints/{checkpoint}", "making checkpoints", false},
	{"DELETE", "/sessions/{session}/checkpoints/{checkpoint}", "making checkpoints", false},
	{"POST", "/sessions/{session}/checkpoints/{checkpoint}/rollback", "rollback", true},
	{"POST", "/sessions/{session}/fork", "forking", true},
	{"GET", "/workspaces", "keeping workspaces", false},
	{"POST", "/workspaces", "keeping workspaces", false},
	{"GET", "/workspaces/{workspace}", "keeping workspaces", false},
	{"DELETE", "/workspaces/{workspace}", "keeping workspaces", false},
	{"GET", "/templates/{template}/builds", "the history of builds", false},
	{"GET", "/templates/{template}/builds/{build}", "the history of builds", false},
	{"GET", "/templates/{template}/builds/{build}/logs", "the history of builds", false},
	{"GET", "/triggers", "triggering sessions", false},
	{"POST", "/triggers", "triggering sessions", false},
	{"GET", "/triggers/reusable-sessions", "triggering sessions", false},
	{"GET", "/triggers/{trigger}", "triggering sessions", false},
	{"PATCH", "/triggers/{trigger}", "triggering sessions", false},
	{"DELETE", "/triggers/{trigger}", "triggering sessions", false},
	{"POST", "/triggers/{trigger}/rotate-secret", "triggering sessions", false},
	{"GET", "/triggers/{trigger}/executions", "triggering sessions", false},
	{"POST", "/triggers/{trigger}/executions", "triggering sessions", false},
	{"GET", "/triggers/{trigger}/executions/{execution}", "triggering sessions", false},
	{"POST", "/triggers/{trigger}/executions/{execution}/cancel", "triggering sessions", false},
	{"GET", "/webhook-providers", "receiving webhooks", false},
	{"POST", "/auth/{provider}", "connecting providers", false},
	{"GET", "/auth/{provider}/poll", "connecting providers", false},
	{"GET", "/auth/{provider}/connections", "connecting providers", false},
	{"POST", "/auth/{provider}/connections", "connecting providers", false},
	{"GET", "/auth/{provider}/connections/{connection}", "connecting providers", false},
	{"DELETE", "/auth/{provider}/connections/{connection}", "connecting providers", false},
	{"POST", "/auth/{provider}/connections/{connection}/reconnect", "connecting providers", false},
}

// refuse makes the handler of such a call: what its path names is not found, or
// in conflict with the session's state, and else not supported.
func (e *edge) refuse(route laterRoute) http.HandlerFunc {
	things := thingsOf(route.path)
	return func(w http.ResponseWriter, r *http.Request) {
		team, session := caller(r).Team, r.PathValue("session")
		for _, kind := range things {
			if err := e.engine.Missing(r.Context(), team, session, kind, r.PathValue(kind)); err != nil {
				e.fail(w, r, err)
				return
			}
		}
		e.fail(w, r, e.engine.Unserved(r.Context(), team, session, route.what, route.boundary))
	}
}

// thingsOf lists what a path names besides a session. A port and an outside
// provider are no things of ours.
func thingsOf(path string) []string {
	var kinds []string
	for element := range strings.SplitSeq(path, "/") {
		kind := strings.Trim(element, "{}")
		if kind != element && kind != "session" && kind != "port" && kind != "provider" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// triggersBySession refuses GET /triggers/by-session/{session}. ServeMux holds
// that pattern to be in conflict with /triggers/{trigger}/executions, so it is
// registered as /triggers/{by}/{session}.
func (e *edge) triggersBySession(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("by") != "by-session" {
		e.fail(w, r, nothingAt(r))
		return
	}
	e.refuse(laterRoute{what: "triggers"})(w, r)
}
