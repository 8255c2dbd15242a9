package server

import (
	"net/http"

	"paddock/internal/engine"
	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/server/gen"
	"paddock/internal/store"
)

func (e *edge) createEnvironment(w http.ResponseWriter, r request) error {
	var want gen.CreateEnvironment
	if err := readJSON(w, r.Request, maxSpec, &want); err != nil {
		return err
	}
	switch {
	case want.Name == "":
		return fault.New(fault.BadRequest, "name is missing: give the environment a name")
	case want.ManifestYAML == "":
		return fault.New(fault.BadRequest, "manifest_yaml is missing: give the spec, as YAML")
	}
	answer := func(made engine.CreatedEnvironment) (store.Answer, error) {
		config, err := environmentOnWire(made.Environment)
		config.Warnings = made.Warnings
		answer := jsonAnswer(http.StatusCreated, gen.EnvironmentAnswer{Config: config})
		answer.Header["Location"] = e.publicURL(r) + r.prefix + "/configs/" + config.ID
		return answer, err
	}
	asked := engine.EnvironmentRequest{Name: want.Name, Spec: []byte(want.ManifestYAML), By: r.who.Name}
	asked.Once = once(r, func(made engine.CreatedEnvironment) store.Answer {
		kept, _ := answer(made) // what cannot be written is refused below
		return kept
	})
	made, err := e.engine.CreateEnvironment(r.Context(), r.who.Team, asked)
	if err != nil {
		return err
	}
	said, err := answer(made)
	if err != nil {
		return err
	}
	writeAnswer(w, said)
	return nil
}

func (e *edge) getEnvironment(w http.ResponseWriter, r request) error {
	env, err := e.engine.Environment(r.Context(), r.who.Team, r.PathValue("environment"))
	if err != nil {
		return err
	}
	config, err := environmentOnWire(env)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.EnvironmentAnswer{Config: config})
	return nil
}

func (e *edge) listEnvironments(w http.ResponseWriter, r request) error {
	query := r.URL.Query()
	size, err := readPageSize(query)
	if err != nil {
		return err
	}
	found, next, err := e.engine.Environments(r.Context(), r.who.Team, size, query.Get("page_token"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.EnvironmentList{Configs: list(found, summaryOnWire), NextPageToken: next})
	return nil
}

func (e *edge) removeEnvironment(w http.ResponseWriter, r request) error {
	if err := e.engine.RemoveEnvironment(r.Context(), r.who.Team, r.PathValue("environment")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (e *edge) listEnvironmentSessions(w http.ResponseWriter, r request) error {
	env, err := e.engine.Environment(r.Context(), r.who.Team, r.PathValue("environment"))
	if err != nil {
		return err
	}
	want, err := readList(r.URL.Query())
	if err != nil {
		return err
	}
	want.Environment = env.ID
	return e.writeSessions(w, r, want)
}

func environmentOnWire(env environment.Environment) (gen.Environment, error) {
	document, err := env.Document()
	at := env.CreatedAt.UTC()
	return gen.Environment{
		ID: env.ID.String(), Name: env.Name, AgentspecSchemaVersion: environment.SchemaVersion, Manifest: document,
		ContentHash: env.ContentHash, CreatedBy: env.CreatedBy, CreatedAt: at, UpdatedAt: at, Region: region,
		Credentials: list(env.Spec.Secrets, secretOnWire),
	}, err
}

// secretOnWire names a secret; its value is not to be had.
func secretOnWire(s environment.Secret) gen.CredentialSlot {
	return gen.CredentialSlot{Name: s.Name, Source: "tenantSecret", Host: s.Host, Header: s.Header}
}

func summaryOnWire(env environment.Environment) gen.EnvironmentSummary {
	at := env.CreatedAt.UTC()
	return gen.EnvironmentSummary{
		ID: env.ID.String(), Name: env.Name, AgentspecSchemaVersion: environment.SchemaVersion,
		ContentHash: env.ContentHash, CreatedBy: env.CreatedBy, CreatedAt: at, UpdatedAt: at, Region: region,
	}
}
