package server

import (
	"net/http"

	"paddock/internal/approval"
	"paddock/internal/engine"
	"paddock/internal/server/gen"
)

// answers are what a person may answer.
var answers = []string{string(approval.OutcomeApprove), string(approval.OutcomeReject), string(approval.OutcomeDefer)}

// sources are where an answer may have been given; nothing depends on it.
var sources = []string{"", "RESOLUTION_SOURCE_UNSPECIFIED", "RESOLUTION_SOURCE_INLINE_KEYSTROKE", "RESOLUTION_SOURCE_OUT_OF_BAND"}

func (e *edge) answerApproval(w http.ResponseWriter, r request) error {
	var want gen.AnswerRequest
	if err := readJSON(w, r.Request, maxBody, &want); err != nil {
		return err
	}
	if err := oneOf("outcome", want.Outcome, answers); err != nil {
		return err
	}
	if err := oneOf("source", want.Source, sources); err != nil {
		return err
	}
	err := e.engine.Answer(r.Context(), r.who.Team, r.PathValue("session"), r.PathValue("approval"), engine.Answer{
		Outcome: approval.Outcome(want.Outcome), Reason: want.Reason, Actor: r.who.Name, Content: want.Content,
		Input: want.Input, ForSession: want.ForSession,
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (e *edge) listApprovals(w http.ResponseWriter, r request) error {
	pending, err := onlyPending(r)
	if err != nil {
		return err
	}
	approvals, err := e.engine.Approvals(r.Context(), r.who.Team, r.PathValue("session"), pending)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.ApprovalList{Approvals: list(approvals, approvalOnWire)})
	return nil
}

func (e *edge) listTeamApprovals(w http.ResponseWriter, r request) error {
	pending, err := onlyPending(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	size, err := readPageSize(query)
	if err != nil {
		return err
	}
	approvals, next, err := e.engine.TeamApprovals(r.Context(), r.who.Team, pending, size, query.Get("page_token"))
	if err != nil {
		return err
	}
	encode := func(a engine.TeamApproval) gen.Approval {
		out := approvalOnWire(a.Approval)
		out.SessionName = a.SessionName
		return out
	}
	writeJSON(w, http.StatusOK, gen.TeamApprovalList{Approvals: list(approvals, encode), NextPageToken: next})
	return nil
}

// onlyPending reads the state that a list of approvals is asked for.
func onlyPending(r request) (bool, error) {
	state := r.URL.Query().Get("state")
	return state != "all", oneOf("state", state, []string{"", "pending", "all"})
}

func (e *edge) listGrants(w http.ResponseWriter, r request) error {
	grants, err := e.engine.Grants(r.Context(), r.who.Team, r.PathValue("session"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.GrantList{Grants: list(grants, grantOnWire)})
	return nil
}

func (e *edge) revokeGrant(w http.ResponseWriter, r request) error {
	if err := e.engine.RevokeGrant(r.Context(), r.who.Team, r.PathValue("session"), r.PathValue("grant"), r.who.Name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
