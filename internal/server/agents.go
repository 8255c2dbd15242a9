package server

import (
	"net/http"

	"paddock/internal/agents"
	"paddock/internal/server/gen"
)

func (e *edge) listAgents(w http.ResponseWriter, r request) error {
	folder, found, err := e.engine.Agents(r.Context())
	if err != nil {
		return err
	}
	answer := gen.AgentList{Folder: folder, Agents: []gen.Agent{}}
	for _, name := range agents.Names() {
		a, _ := agents.Find(name)
		known := gen.Agent{
			Name: a.Name, Title: a.Title, Adapter: a.Adapter, AgentKind: kindOf(a), Package: a.Package, DefaultVersion: a.Version,
			Obtain: a.Obtain, Mediation: string(a.Mediation), NeedsNode: a.Node, Installed: []gen.InstalledAgent{},
		}
		for _, one := range found {
			if one.Name == name {
				known.Installed = append(known.Installed, gen.InstalledAgent{Version: one.Version, Current: one.Current, Sessions: one.Sessions})
			}
		}
		answer.Agents = append(answer.Agents, known)
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

func (e *edge) removeAgent(w http.ResponseWriter, r request) error {
	if err := e.engine.RemoveAgent(r.Context(), r.PathValue("agent"), r.PathValue("version")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// kindOf is the public protocol's word for an agent.
func kindOf(a agents.Agent) string {
	if a.Kind == "" {
		return kindCustom
	}
	return a.Kind
}
