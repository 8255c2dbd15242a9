package server

import (
	"net/http"

	"paddock/api"
	"paddock/internal/environment"
	"paddock/internal/server/gen"
	"paddock/internal/store"
)

func (e *edge) listSizes(w http.ResponseWriter, _ request) error {
	writeJSON(w, http.StatusOK, gen.SizeList{Sizes: list(environment.Sizes, func(s environment.Size) gen.Size {
		return gen.Size{Slug: s.Slug, VCPUs: s.VCPUs, MemoryMB: s.MemoryMB, DiskMB: s.DiskMB}
	})})
	return nil
}

func (e *edge) listRegions(w http.ResponseWriter, _ request) error {
	writeJSON(w, http.StatusOK, gen.RegionList{Regions: []gen.Region{{Slug: region, IsDefault: true}}})
	return nil
}

// The three calls about the server itself need no token.

func (e *edge) health(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, gen.Health{Status: "ok", Version: e.options.Version})
}

func (e *edge) ready(w http.ResponseWriter, r *http.Request) {
	if err := e.engine.Ready(r.Context()); err != nil {
		e.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, gen.Health{Status: "ready", Version: e.options.Version})
}

func (e *edge) openapi(w http.ResponseWriter, _ *http.Request) {
	writeAnswer(w, store.Answer{Status: http.StatusOK, Header: map[string]string{"Content-Type": "application/yaml"}, Body: api.OpenAPI})
}
