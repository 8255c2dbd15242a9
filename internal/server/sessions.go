package server

import (
	"net/http"
	"net/url"
	"strconv"

	"paddock/internal/engine"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/server/gen"
	"paddock/internal/session"
)

func (e *edge) listSessions(w http.ResponseWriter, r request) error {
	want, err := readList(r.URL.Query())
	if err != nil {
		return err
	}
	return e.writeSessions(w, r, want)
}

// writeSessions answers a list of sessions.
func (e *edge) writeSessions(w http.ResponseWriter, r request, want engine.ListRequest) error {
	views, next, err := e.engine.Sessions(r.Context(), r.who.Team, want)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.SessionList{Sessions: list(views, sessionOnWire), NextPageToken: next})
	return nil
}

// readList reads the filters of a list of sessions.
func readList(query url.Values) (engine.ListRequest, error) {
	want := engine.ListRequest{Name: query.Get("name"), Search: query.Get("search"), PageToken: query.Get("page_token")}
	var err error
	if want.PageSize, err = readPageSize(query); err != nil {
		return engine.ListRequest{}, err
	}
	if text := query.Get("parent_session_id"); text != "" {
		if want.Parent, err = id.Parse[id.Session](text); err != nil {
			return engine.ListRequest{}, fault.New(fault.BadRequest, "parent_session_id: %.64q is not a session's id", text)
		}
	}
	switch word := query.Get("status"); word {
	case "":
	case "SESSION_STATUS_ALL":
		want.All = true
	case "SESSION_STATUS_DETACHED": // ready, and no client is attached
		want.States = []session.State{session.Ready}
	default:
		state, ok := session.StateFromWire(word)
		if !ok {
			return engine.ListRequest{}, fault.New(fault.BadRequest, "status: %.64q is unknown%s", word, didYouMean(word, statusWords()))
		}
		want.States = []session.State{state}
	}
	return want, nil
}

// statusWords lists what the filter status takes.
func statusWords() []string {
	return append(list(session.States, session.State.Wire), "SESSION_STATUS_ALL", "SESSION_STATUS_DETACHED")
}

// readPageSize reads how many elements a page shall have; 0 leaves it open.
func readPageSize(query url.Values) (int, error) {
	text := query.Get("page_size")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fault.New(fault.BadRequest, "page_size: %.64q is not a number of elements", text)
	}
	return n, nil
}

func (e *edge) getSession(w http.ResponseWriter, r request) error {
	view, err := e.engine.Session(r.Context(), r.who.Team, r.PathValue("session"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.SessionAnswer{Session: sessionOnWire(view)})
	return nil
}

func (e *edge) updateSession(w http.ResponseWriter, r request) error {
	var want gen.UpdateSession
	if err := readJSON(w, r.Request, maxSpec, &want); err != nil {
		return err
	}
	ref := r.PathValue("session")
	switch {
	case want.ManifestYAML != nil && want.ResumeOnTopoff != nil:
		return fault.New(fault.BadRequest, "manifest_yaml and resume_on_topoff are changed in separate calls")
	case want.ManifestYAML != nil:
		return e.engine.Unserved(r.Context(), r.who.Team, ref, "changing the configuration of a session", false)
	case want.ResumeOnTopoff == nil:
		return fault.New(fault.BadRequest, "nothing to change: give resume_on_topoff")
	}
	view, err := e.engine.SetResumeOnTopoff(r.Context(), r.who.Team, ref, *want.ResumeOnTopoff)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.SessionAnswer{Session: sessionOnWire(view)})
	return nil
}

func (e *edge) removeSession(w http.ResponseWriter, r request) error {
	if err := e.engine.RemoveSession(r.Context(), r.who.Team, r.PathValue("session")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (e *edge) pauseSession(w http.ResponseWriter, r request) error {
	var want gen.PauseRequest
	if err := readOptionalJSON(w, r.Request, &want); err != nil {
		return err
	}
	ref := r.PathValue("session")
	if want.Cold {
		return e.engine.Unserved(r.Context(), r.who.Team, ref, "a cold pause", false)
	}
	pending, err := e.engine.Pause(r.Context(), r.who.Team, ref)
	switch {
	case err != nil:
		return err
	case pending:
		writeJSON(w, http.StatusAccepted, gen.PausePending{Pending: true})
	default:
		w.WriteHeader(http.StatusNoContent)
	}
	return nil
}

func (e *edge) resumeSession(w http.ResponseWriter, r request) error {
	if err := readOptionalJSON(w, r.Request, &struct{}{}); err != nil {
		return err
	}
	if err := e.engine.Resume(r.Context(), r.who.Team, r.PathValue("session")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
