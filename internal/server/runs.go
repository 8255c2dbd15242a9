package server

import (
	"net/http"
	"strings"

	"paddock/internal/engine"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/server/gen"
	"paddock/internal/store"
)

func (e *edge) sendInput(w http.ResponseWriter, r request) error {
	var want gen.InputRequest
	if err := readJSON(w, r.Request, maxInput, &want); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(want.Text) == "":
		return fault.New(fault.BadRequest, "text is blank: say something to the agent")
	case len(want.Text) > guestapi.MaxPrompt:
		return fault.New(fault.TooLarge, "text is larger than %d KiB; put what is long into a file of the workspace", guestapi.MaxPrompt>>10)
	}
	answer := func(run id.Run) store.Answer { return jsonAnswer(http.StatusOK, gen.InputAnswer{RunID: run.String()}) }
	run, err := e.engine.Input(r.Context(), r.who.Team, r.PathValue("session"), engine.Input{
		Text: want.Text, SourceRaw: want.SourceRaw, Once: once(r, answer),
	})
	if err != nil {
		return err
	}
	writeAnswer(w, answer(run))
	return nil
}

func (e *edge) cancelRun(w http.ResponseWriter, r request) error {
	var want gen.CancelRequest
	if err := readOptionalJSON(w, r.Request, &want); err != nil {
		return err
	}
	met, err := e.engine.Cancel(r.Context(), r.who.Team, r.PathValue("session"), want.RunID, r.who.Name)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.CancelAnswer{SessionID: met.Session.String(), RunID: met.Run.String(), Outcome: string(met.Outcome)})
	return nil
}

func (e *edge) listRuns(w http.ResponseWriter, r request) error {
	query := r.URL.Query()
	size, err := readPageSize(query)
	if err != nil {
		return err
	}
	runs, next, err := e.engine.Runs(r.Context(), r.who.Team, r.PathValue("session"), size, query.Get("page_token"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.RunList{Runs: list(runs, runOnWire), NextPageToken: next})
	return nil
}

func (e *edge) getRun(w http.ResponseWriter, r request) error {
	run, err := e.engine.Run(r.Context(), r.who.Team, r.PathValue("session"), r.PathValue("run"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.RunAnswer{Run: runOnWire(run)})
	return nil
}
