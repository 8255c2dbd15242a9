package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"paddock/internal/approval"
	"paddock/internal/id"
	"paddock/internal/store"
)

var (
	approvalColumns = strings.Fields("id session_id run_id guest_key asked state actor reason asked_at_us ended_at_us deadline_us team_id input grant_id")
	selectApproval  = "SELECT " + strings.Join(approvalColumns, ", ") + " FROM approvals"
	saveApproval    = insertInto("approvals", approvalColumns) + orReplace("id", approvalColumns)
)

// openApprovals is the condition of the indexes of what waits, to the letter:
// the states for which approval.State.Open.
const openApprovals = "state IN ('pending', 'deferred')"

// askedApprovals is the condition of the index of what people were asked, to the
// letter: those for which approval.Approval.OfPeople.
const askedApprovals = "deadline_us IS NOT NULL"

func scanApproval(rows *sql.Rows) (a approval.Approval, err error) {
	err = rows.Scan(
		idInto(&a.ID), idInto(&a.Session), idInto(&a.Run), &a.Key, documentInto(&a.Asked), &a.State, &a.Actor, &a.Reason,
		momentInto(&a.At), momentInto(&a.EndedAt), momentInto(&a.Deadline), idInto(&a.Team), (*[]byte)(&a.Input), idInto(&a.Grant),
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
		w.add(openApprovals)
	}
	list, err := all(ctx, q, scanApproval, selectApproval+w.String()+" ORDER BY ordinal", w.args...)
	return list, wrap(err, "list approvals")
}

// TeamApprovals implements store.Reader.
func (q queries) TeamApprovals(ctx context.Context, f store.ApprovalFilter) ([]approval.Approval, error) {
	var w where
	w.add("team_id = %s", f.Team.String())
	if f.Open {
		w.add(openApprovals)
	} else {
		w.add(askedApprovals)
	}
	if !f.After.IsZero() {
		w.add("ordinal > (SELECT ordinal FROM approvals WHERE id = %s AND team_id = %s)", f.After.String(), f.Team.String())
	}
	list, err := all(ctx, q, scanApproval, selectApproval+w.String()+" ORDER BY ordinal"+w.limit(f.Limit), w.args...)
	if err == nil && len(list) == 0 && !f.After.IsZero() {
		_, err = one(ctx, q, scanApproval, selectApproval+" WHERE id = $1 AND team_id = $2", f.After.String(), f.Team.String())
	}
	return list, wrap(err, "list approvals of %s", f.Team)
}

// DueApprovals implements store.Reader.
func (q queries) DueApprovals(ctx context.Context, at time.Time, limit int) ([]approval.Approval, error) {
	list, err := all(ctx, q, scanApproval, selectApproval+" WHERE "+openApprovals+" AND deadline_us <= $1 ORDER BY deadline_us LIMIT $2", created(at), limit)
	return list, wrap(err, "list due approvals")
}

// SaveApproval implements store.Tx.
func (x *tx) SaveApproval(a approval.Approval) error {
	asked, err := document(a.Asked)
	if err != nil {
		return fmt.Errorf("save approval %s: %w", a.ID, err)
	}
	_, err = x.write(saveApproval,
		a.ID.String(), a.Session.String(), a.Run.String(), a.Key, asked, string(a.State), a.Actor, a.Reason,
		created(a.At), moment(a.EndedAt), moment(a.Deadline), a.Team.String(), blob(a.Input), ref(a.Grant),
	)
	return wrap(err, "save approval %s", a.ID)
}
