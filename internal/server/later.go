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
	{"POST", "/sessions/{session}/workspace/transfers", "staged transfers", false},
	{"GET", "/sessions/{session}/workspace/transfers/{transfer}", "staged transfers", false},
	{"POST", "/sessions/{session}/workspace/transfers/{transfer}/part-upload-urls", "staged transfers", false},
	{"POST", "/sessions/{session}/workspace/transfers/{transfer}/commit", "staged transfers", false},
	{"POST", "/sessions/{session}/workspace/transfers/{transfer}/cancel", "staged transfers", false},
	{"GET", "/sessions/{session}/port-forward/{port}", "port forwarding", false},
	{"POST", "/sessions/{session}/checkpoints", "checkpoints", true},
	{"GET", "/sessions/{session}/checkpoints", "checkpoints", false},
	{"GET", "/sessions/{session}/checkpoints/{checkpoint}", "checkpoints", false},
	{"DELETE", "/sessions/{session}/checkpoints/{checkpoint}", "checkpoints", false},
	{"POST", "/sessions/{session}/checkpoints/{checkpoint}/rollback", "rollback", true},
	{"POST", "/sessions/{session}/fork", "forking", true},
	{"POST", "/sessions/policy/validate", "policy validation", false},
	{"GET", "/configs", "storing environments", false},
	{"POST", "/configs", "storing environments", false},
	{"GET", "/configs/{environment}", "storing environments", false},
	{"DELETE", "/configs/{environment}", "storing environments", false},
	{"GET", "/configs/{environment}/sessions", "storing environments", false},
	{"GET", "/workspaces", "persistent workspaces", false},
	{"POST", "/workspaces", "persistent workspaces", false},
	{"GET", "/workspaces/{workspace}", "persistent workspaces", false},
	{"DELETE", "/workspaces/{workspace}", "persistent workspaces", false},
	{"GET", "/templates", "templates", false},
	{"POST", "/templates", "templates", false},
	{"GET", "/templates/{template}", "templates", false},
	{"PUT", "/templates/{template}", "templates", false},
	{"DELETE", "/templates/{template}", "templates", false},
	{"GET", "/templates/{template}/builds", "templates", false},
	{"GET", "/templates/{template}/builds/{build}", "templates", false},
	{"GET", "/templates/{template}/builds/{build}/logs", "templates", false},
	{"GET", "/triggers", "triggers", false},
	{"POST", "/triggers", "triggers", false},
	{"GET", "/triggers/reusable-sessions", "triggers", false},
	{"GET", "/triggers/{trigger}", "triggers", false},
	{"PATCH", "/triggers/{trigger}", "triggers", false},
	{"DELETE", "/triggers/{trigger}", "triggers", false},
	{"POST", "/triggers/{trigger}/rotate-secret", "triggers", false},
	{"GET", "/triggers/{trigger}/executions", "triggers", false},
	{"POST", "/triggers/{trigger}/executions", "triggers", false},
	{"GET", "/triggers/{trigger}/executions/{execution}", "triggers", false},
	{"POST", "/triggers/{trigger}/executions/{execution}/cancel", "triggers", false},
	{"GET", "/webhook-providers", "webhooks", false},
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
