package server

import (
	"net/http"

	"paddock/internal/engine"
	"paddock/internal/server/gen"
)

func (e *edge) diffSession(w http.ResponseWriter, r request) error {
	query := r.URL.Query()
	patches, err := readFlag(query, "patch")
	if err != nil {
		return err
	}
	repos, err := e.engine.Diff(r.Context(), r.who.Team, r.PathValue("session"), patches || query.Get("patch") == "")
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.SessionDiff{Repos: list(repos, repoDiffOnWire)})
	return nil
}

func repoDiffOnWire(d engine.RepoDiff) gen.RepoDiff {
	out := gen.RepoDiff{
		Path: d.Path, URL: d.URL, Base: d.Base, Truncated: d.Truncated, Problem: d.Problem,
		Files: list(d.Files, func(f engine.FileDiff) gen.FileDiff {
			return gen.FileDiff{Path: f.Path, From: f.From, Status: f.Status, Additions: f.Added, Deletions: f.Removed, Binary: f.Binary}
		}),
	}
	out.Patch, out.PatchBase64 = asText(d.Patch)
	return out
}
