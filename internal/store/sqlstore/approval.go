package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"paddock/internal/approval"
	"paddock/internal/id"
)

var (
	approvalColumns = strings.Fields("id session_id run_id guest_key asked state actor reason asked_at_us ended_at_us deadline_us")
	selectApproval  = "SELECT " + strings.Join(approvalColumns, ", ") + " FROM approvals"
	saveApproval    = insertInto("approvals", approvalColumns) + orReplace("id", approvalColumns)
)

// approvalStates lists every state, for the choice of the open ones.
var approvalStates = []approval.State{approval.Pending, approval.Approved, approval.Rejected, approval.Deferred, approval.Expired}

func scanApproval(rows *sql.Rows) (a approval.Approval, err error) {
	err = rows.Scan(
		idInto(&a.ID), idInto(&a.Session), idInto(&a.Run), &a.Key, documentInto(&a.Asked), &a.State, &a.Actor, &a.Reason,
		momentInto(&a.At), momentInto(&a.EndedAt), momentInto(&a.Deadline),
	)
	return a, err
}

// Approval implements store.Reader.
func (q queries) Approval(ctx context.Context, session id.Session, approval id.Approval) (approval.Approval, error) {
	a, err := one(ctx, q, scanApproval, selectApproval+" WHERE id = $1 AND session_id = $2", approval.String(), session.String())
	return a, wrap(err, "find approval %s", approval)
}

// Approvals implements store.Reader.
func (q queries) Approvals(ctx context.Context, session id.Session, open bool) ([]approval.Approval, error) {
	var w where
	w.add("session_id = %s", session.String())
	if open {
		var states []approval.State
		for _, s := range approvalStates {
			if s.Open() {
				states = append(states, s)
			}
		}
		in(&w, "state", states)
	}
	list, err := all(ctx, q, scanApproval, selectApproval+w.String()+" ORDER BY ordinal", w.args...)
	return list, wrap(err, "list approvals")
}

// SaveApproval implements store.Tx.
func (x *tx) SaveApproval(a approval.Approval) error {
	asked, err := document(a.Asked)
	if err != nil {
		return fmt.Errorf("save approval %s: %w", a.ID, err)
	}
	_, err = x.write(saveApproval,
		a.ID.String(), a.Session.String(), a.Run.String(), a.Key, asked, string(a.State), a.Actor, a.Reason,
		created(a.At), moment(a.EndedAt), moment(a.Deadline),
	)
	return wrap(err, "save approval %s", a.ID)
}
