package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/approval"
	"paddock/internal/engine"
	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/store/sqlstore"
	"paddock/internal/team"
)

// idle is a driver whose machines nobody asks for.
type idle struct{ sandbox.Driver }

func (idle) Capabilities() sandbox.Capabilities { return sandbox.Capabilities{} }

// tenants is a real engine over a real store with two teams; each has an
// environment, and a ready session named "busy" with a run, an approval and a
// history. Their tokens are their names.
type tenants struct {
	http.Handler
	store        *sqlstore.Store
	mine, theirs tenant
}

type tenant struct {
	session     id.Session
	run         id.Run
	approval    id.Approval
	environment id.Environment
	event       id.Event
	template    id.Template
}

func newTenants(t *testing.T) *tenants {
	st, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "paddock.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.Options{Store: st, Driver: idle{}, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		e.Stop()
		st.Close()
	})
	return &tenants{New(Options{Engine: e}), st, newTenant(t, st, "mine"), newTenant(t, st, "theirs")}
}

func newTenant(t *testing.T, st store.Store, name string) tenant {
	t.Helper()
	it := tenant{session: id.New[id.Session](), run: id.New[id.Run](), approval: id.New[id.Approval](), environment: id.New[id.Environment](), template: id.New[id.Template]()}
	err := st.Update(t.Context(), func(tx store.Tx) error {
		tm, err := tx.EnsureTeam(name, id.New[id.Team](), someTime)
		if err != nil {
			return err
		}
		s := session.Session{
			ID: it.session, Team: tm.ID, Name: "busy", Environment: it.environment, Adapter: "demo", State: session.Ready, CreatedAt: someTime,
		}
		for _, err := range []error{
			tx.SaveToken(team.Token{ID: id.New[id.Token](), Team: tm.ID, Name: name, Hash: team.HashToken(name), CreatedAt: someTime}),
			tx.SaveEnvironment(environment.Environment{ID: it.environment, Team: tm.ID, Name: "busy", Spec: environment.Spec{Agent: "demo"}, CreatedAt: someTime}),
			tx.CreateSession(s, 0),
			tx.SaveRun(session.Run{ID: it.run, Session: s.ID, Text: "hi", State: session.RunCompleted, CreatedAt: someTime}),
			tx.SaveTemplate(store.Template{ID: it.template, Team: tm.ID, Name: "tools", State: store.TemplateFailed, CreatedAt: someTime, UpdatedAt: someTime}),
			tx.SaveApproval(approval.Approval{ID: it.approval, Session: s.ID, Run: it.run, State: approval.Pending, At: someTime}),
		} {
			if err != nil {
				return err
			}
		}
		events, err := tx.Append(s.ID, someTime, event.NewDraft(id.Run{}, event.RunLog, struct{}{}))
		if err == nil {
			it.event = events[0].ID
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// ask is a call of team "mine"; the answer comes without what differs between
// calls: the id of the request, and the id that was asked for.
func (s *tenants) ask(t *testing.T, method, path, body, named string) string {
	t.Helper()
	accept := "*/*"
	if strings.Contains(path, "after=") {
		accept = "application/json" // a long poll
	}
	c := do(t, s, method, path, body, "Authorization", "Bearer mine", "X-Request-Id", "r", "Accept", accept)
	header, err := json.Marshal(c.header)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(http.StatusText(c.status)+" "+string(header)+" "+c.body, named, "<id>")
}

// What belongs to another team looks, in every route, just like what never was.
func TestOtherTeamsThingsAreNotThere(t *testing.T) {
	s := newTenants(t)
	never := newTenantIDs()
	all := append([]route{}, served...)
	for _, r := range unserved {
		all = append(all, route{method: r.method, path: r.path})
	}
	all = append(all, route{method: "GET", path: "/triggers/by-session/{session}"})
	for _, prefix := range prefixes {
		for _, r := range all {
			if examples[r.method+" "+r.path].media != "" {
				continue // it makes what its path names
			}
			body := examples[r.method+" "+r.path].body
			query := "?" + examples[r.method+" "+r.path].query
			for _, kind := range kindsIn(r.path) {
				theirs, ours := s.theirs.named(kind), never.named(kind)
				if theirs == "" {
					continue // a kind of which there is nothing yet
				}
				at := func(name string) string {
					path := prefix + r.path
					for _, other := range kindsIn(r.path) {
						value := s.mine.named(other)
						if other == kind {
							value = name
						} else if value == "" {
							value = "x"
						}
						path = strings.Replace(path, "{"+other+"}", value, 1)
					}
					return path + query
				}
				got, want := s.ask(t, r.method, at(theirs), body, theirs), s.ask(t, r.method, at(ours), body, ours)
				if got != want || !strings.HasPrefix(got, "Not Found") {
					t.Errorf("%s %s with another team's %s: %s\nof one that never was: %s", r.method, r.path, kind, got, want)
				}
			}
		}
	}
}

// Ids that stand elsewhere than in a path.
func TestOtherTeamsIDsInBodiesAndQueries(t *testing.T) {
	s := newTenants(t)
	never := newTenantIDs()
	const root = "/v2/agents/sessions"
	for _, c := range []struct{ method, path, body, theirs, never, begins string }{
		{"POST", root, `{"name":"a","config_id":"$"}`, s.theirs.environment.String(), never.environment.String(), "Not Found"},
		{"POST", root + "/busy/cancel", `{"run_id":"$"}`, s.theirs.run.String(), never.run.String(), "Not Found"},
		{"GET", root + "?parent_session_id=$", ``, s.theirs.session.String(), never.session.String(), "OK"},
		{"GET", root + "?name=$", ``, s.theirs.session.String(), never.session.String(), "OK"},
		{"GET", root + "?search=$", ``, s.theirs.session.String(), never.session.String(), "OK"},
		{"GET", root + "/busy/events?after=$&wait=0s", ``, s.theirs.event.String(), never.event.String(), "OK"},
		{"GET", root + "/busy/events?replay_only=true&before=$", ``, s.theirs.event.String(), never.event.String(), "Bad Request"},
		{"GET", "/v2/agents/events?after=$&wait=0s", ``, s.theirs.event.String(), never.event.String(), "OK"},
		{"GET", "/v2/agents/events?replay_only=true&before=$", ``, s.theirs.event.String(), never.event.String(), "Bad Request"},
	} {
		with := func(name string) string {
			return s.ask(t, c.method, strings.Replace(c.path, "$", name, 1), strings.Replace(c.body, "$", name, 1), name)
		}
		got, want := with(c.theirs), with(c.never)
		if got != want || !strings.HasPrefix(got, c.begins) {
			t.Errorf("%s %s %s with another team's id: %s\nof one that never was: %s", c.method, c.path, c.body, got, want)
		}
	}
}

// Names are a team's own, and so are lists, their pages and keys.
func TestTeamsDoNotMeet(t *testing.T) {
	s := newTenants(t)
	as := func(who, method, path, body string, headers ...string) call {
		t.Helper()
		return do(t, s, method, path, body, append([]string{"Authorization", "Bearer " + who}, headers...)...)
	}
	for who, own := range map[string]tenant{"mine": s.mine, "theirs": s.theirs} {
		for _, path := range []string{"/v2/agents/sessions/busy", "/v2/agents/sessions/BUSY", "/v2/agents/sessions/" + own.session.String()} {
			if got := as(who, "GET", path, ""); !strings.Contains(got.body, own.session.String()) {
				t.Errorf("%s of %s: %s", path, who, got.body)
			}
		}
		if got := as(who, "GET", "/v2/agents/sessions/"+strings.ToUpper(own.session.String()), ""); got.status != 404 {
			t.Errorf("an id in upper case: %d", got.status)
		}
		list := as(who, "GET", "/v2/agents/sessions?search=BUS", "").body
		if !strings.Contains(list, own.session.String()) || strings.Count(list, "session_id") != 1 {
			t.Errorf("the list of %s: %s", who, list)
		}
	}
	for who, own := range map[string]tenant{"mine": s.mine, "theirs": s.theirs} {
		got := as(who, "GET", "/v2/agents/events?replay_only=true", "").body
		if !strings.Contains(got, own.event.String()) || strings.Count(got, `"seq":`) != 1 {
			t.Errorf("all events of %s: %s", who, got)
		}
	}
	first := newTenant(t, s.store, "third")
	_ = s.store.Update(t.Context(), func(tx store.Tx) error {
		tm, err := tx.EnsureTeam("third", id.New[id.Team](), someTime)
		if err != nil {
			return err
		}
		return tx.CreateSession(session.Session{ID: id.New[id.Session](), Team: tm.ID, Name: "more", State: session.Ready, CreatedAt: someTime}, 0)
	})
	token := pageToken(t, as("third", "GET", "/v2/agents/sessions?page_size=1", ""))
	if got := as("third", "GET", "/v2/agents/sessions?page_size=1&page_token="+token, ""); !strings.Contains(got.body, first.session.String()) {
		t.Errorf("the second page: %s", got.body)
	}
	for who, path := range map[string]string{
		"mine": "/v2/agents/sessions?page_token=" + token, "third": "/v2/agents/sessions/busy/runs?page_token=" + token,
	} {
		if got := as(who, "GET", path, ""); got.status != 400 || !strings.Contains(errorOf(t, got).Message, "page_token") {
			t.Errorf("a token of another list: %d %s", got.status, got.body)
		}
	}
	if got := as("third", "GET", "/v2/agents/sessions?status=SESSION_STATUS_ALL&page_token="+token, ""); got.status != 400 {
		t.Errorf("a token with another filter: %d %s", got.status, got.body)
	}
	for _, bad := range []string{"x", token[1:], token + "A", token + "=", first.session.String(), "%00", strings.Repeat("A", 1000)} {
		if got := as("third", "GET", "/v2/agents/sessions?page_token="+bad, ""); got.status != 400 {
			t.Errorf("page_token %.20q: %d %s", bad, got.status, got.body)
		}
	}
}

func pageToken(t *testing.T, c call) string {
	t.Helper()
	var page struct {
		Token string `json:"next_page_token"`
	}
	if err := json.Unmarshal([]byte(c.body), &page); err != nil || page.Token == "" {
		t.Fatalf("no token in %d %s", c.status, c.body)
	}
	return page.Token
}

// newTenantIDs are ids of things that never were.
func newTenantIDs() tenant {
	return tenant{id.New[id.Session](), id.New[id.Run](), id.New[id.Approval](), id.New[id.Environment](), id.NewEvent(someTime, 1, 0), id.New[id.Template]()}
}

// named gives the id of a path's parameter, "" of kinds that tenants have not.
func (n tenant) named(kind string) string {
	return map[string]string{
		"session": n.session.String(), "run": n.run.String(), "approval": n.approval.String(), "environment": n.environment.String(), "template": n.template.String(),
	}[kind]
}

// kindsIn lists the parameters of a path.
func kindsIn(path string) []string {
	var kinds []string
	for element := range strings.SplitSeq(path, "/") {
		if kind := strings.Trim(element, "{}"); kind != element {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Things that are there and not served yet: 501 after everything else.
func TestUnservedCallsOfThingsThatAreThere(t *testing.T) {
	s := newTenants(t)
	for path, status := range map[string]int{
		"GET /templates/tools/builds":         501,
		"GET /templates/nosuch/builds":        404,
		"GET /templates/tools/builds/1":       404,
		"GET /workspaces/x":                   404,
		"POST /triggers/x/executions":         404,
		"POST /auth/github":                   501,
		"POST /sessions/busy/checkpoints":     501,
		"GET /sessions/busy/checkpoints/cp_x": 404,
		"POST /sessions/busy/fork":            501,
		"GET /sessions/busy/port-forward/80":  501,
	} {
		method, rest, _ := strings.Cut(path, " ")
		if got := do(t, s, method, "/v2/agents"+rest, "", "Authorization", "Bearer mine"); got.status != status {
			t.Errorf("%s: %d %s, want %d", path, got.status, got.body, status)
		} else {
			errorOf(t, got)
		}
	}
	err := s.store.Update(context.Background(), func(tx store.Tx) error {
		return tx.SaveRun(session.Run{ID: s.mine.run, Session: s.mine.session, Text: "hi", State: session.RunRunning, CreatedAt: someTime})
	})
	if err != nil {
		t.Fatal(err)
	}
	got := do(t, s, "POST", "/v2/agents/sessions/busy/checkpoints", "", "Authorization", "Bearer mine")
	if got.status != 409 || !strings.Contains(errorOf(t, got).Message, s.mine.run.String()) {
		t.Errorf("during a run: %d %s", got.status, got.body)
	}
}
