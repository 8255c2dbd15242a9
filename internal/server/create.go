package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"paddock/internal/agents"
	"paddock/internal/engine"
	"paddock/internal/fault"
	"paddock/internal/server/gen"
	"paddock/internal/store"
)

func (e *edge) createSession(w http.ResponseWriter, r request) error {
	want, err := readCreate(w, r)
	if err != nil {
		return err
	}
	answer := func(made engine.Created) store.Answer {
		body := gen.SessionAnswer{Session: sessionOnWire(made.View)}
		body.Session.Warnings = made.Warnings
		answer := jsonAnswer(http.StatusCreated, body)
		answer.Header["Location"] = e.publicURL(r) + r.prefix + "/sessions/" + made.View.ID.String()
		return answer
	}
	want.Once, want.By = once(r, answer), r.who.Name
	view, warnings, err := e.engine.CreateSession(r.Context(), r.who.Team, want)
	if err != nil {
		return err
	}
	writeAnswer(w, answer(engine.Created{View: view, Warnings: warnings}))
	return nil
}

// readCreate reads any of the three forms in which a session is asked for.
func readCreate(w http.ResponseWriter, r request) (engine.CreateRequest, error) {
	media := contentType(r.Request)
	switch media {
	case "application/x-yaml", "application/yaml", "text/yaml", "application/json":
	default:
		return engine.CreateRequest{}, fault.New(fault.UnsupportedMediaType,
			"the body is %.64q; send a spec as application/yaml or a JSON object as application/json", media)
	}
	text, err := readBody(w, r.Request, maxSpec)
	if err != nil {
		return engine.CreateRequest{}, err
	}
	query := r.URL.Query()
	if media == "application/json" {
		for name := range query {
			return engine.CreateRequest{}, fault.New(fault.BadRequest, "query parameter %q goes with a YAML spec only", name)
		}
		return decodeCreate(text)
	}
	topoff, err := readFlag(query, "resume_on_topoff")
	return engine.CreateRequest{Spec: text, ResumeOnTopoff: topoff, OpenAISession: query.Get("openai_session_id")}, err
}

// decodeCreate tells the two JSON forms apart by their keys.
func decodeCreate(text []byte) (engine.CreateRequest, error) {
	var keys map[string]json.RawMessage
	_ = json.Unmarshal(text, &keys) // decodeStrict says what is wrong
	if _, legacy := keys["agent_kind"]; legacy {
		var want gen.CreateLegacy
		if err := decodeStrict(text, &want); err != nil {
			return engine.CreateRequest{}, err
		}
		return fromLegacy(want)
	}
	var want gen.CreateFromEnvironment
	if err := decodeStrict(text, &want); err != nil {
		return engine.CreateRequest{}, err
	}
	return fromEnvironment(want)
}

func fromEnvironment(want gen.CreateFromEnvironment) (engine.CreateRequest, error) {
	switch {
	case want.ConfigID == "":
		return engine.CreateRequest{}, fault.New(fault.BadRequest, "config_id is missing: give an environment's id, or send a spec as application/yaml")
	case want.Name == "":
		return engine.CreateRequest{}, fault.New(fault.BadRequest, "name is missing: give the new session a name")
	case want.Region != "" && want.Region != region:
		return engine.CreateRequest{}, fault.New(fault.BadRequest, "region_mismatch: this server's region is %q, not %q", region, want.Region)
	case want.WorkspaceID != "":
		return engine.CreateRequest{}, fault.New(fault.NotSupported, "workspace_id: persistent workspaces are not supported yet")
	}
	return engine.CreateRequest{Environment: want.ConfigID, Name: want.Name, ResumeOnTopoff: want.ResumeOnTopoff}, nil
}

// fromLegacy writes the spec that a legacy request means.
func fromLegacy(want gen.CreateLegacy) (engine.CreateRequest, error) {
	agent, known := agents.OfKind(want.AgentKind)
	switch {
	case want.AgentKind == kindCustom:
		return engine.CreateRequest{}, fault.New(fault.BadRequest, "agent_kind: %s needs a command; send a spec as application/yaml with agent: custom", kindCustom)
	case want.AgentKind != kindNone && !known:
		return engine.CreateRequest{}, fault.New(fault.NotSupported, "agent_kind: %.64q is not supported yet; %s is, and every agent that a spec names", want.AgentKind, kindNone)
	case want.RepoHint != "":
		return engine.CreateRequest{}, fault.New(fault.NotSupported, "repo_hint is not supported yet")
	case want.Origin != nil && (want.Origin.Product != "direct" || want.Origin.ResourceID != ""):
		return engine.CreateRequest{}, fault.New(fault.NotSupported, "origin: only product direct, without a resource_id, is supported yet")
	case want.IdleTimeoutSeconds != 0 && (want.IdleTimeoutSeconds < minIdleSeconds || want.IdleTimeoutSeconds > maxIdleSeconds):
		return engine.CreateRequest{}, fault.New(fault.BadRequest, "idle_timeout_seconds: %d is not within %d and %d",
			want.IdleTimeoutSeconds, minIdleSeconds, maxIdleSeconds)
	}
	spec := "agent: none\n"
	if known {
		spec = "agent: " + agent.Name + "\n"
	}
	if want.IdleTimeoutSeconds > 0 {
		spec += fmt.Sprintf("idle_timeout: %s\n", time.Duration(want.IdleTimeoutSeconds)*time.Second)
	}
	return engine.CreateRequest{Spec: []byte(spec)}, nil
}

// Bounds of idle_timeout_seconds, those of the spec's idle_timeout.
const (
	minIdleSeconds = 60
	maxIdleSeconds = 24 * 60 * 60
)

// publicURL is how clients reach the server, without a slash at the end.
func (e *edge) publicURL(r request) string {
	if e.options.PublicURL != "" {
		return strings.TrimSuffix(e.options.PublicURL, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// readFlag reads a boolean query parameter; absent is false.
func readFlag(query url.Values, name string) (bool, error) {
	text := query.Get(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fault.New(fault.BadRequest, "%s: %.64q is neither true nor false", name, text)
	}
	return on, nil
}
