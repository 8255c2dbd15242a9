package sqlstore

import (
	"context"
	"database/sql"
	"strings"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

var (
	runColumns = strings.Fields(`id session_id text source_raw state created_at_us started_at_us ended_at_us deadline_us
		tokens_in tokens_out cost_micros stop_reason failure_code failure_message failure_terminal
		cancel_at_us cancelled_by awaiting_since_us trace`)
	selectRun = "SELECT " + strings.Join(runColumns, ", ") + " FROM runs"
	saveRun   = insertInto("runs", runColumns) + orReplace("id", runColumns)
)

func scanRun(rows *sql.Rows) (r session.Run, err error) {
	var code sql.NullInt64
	var failure session.Failure
	err = rows.Scan(
		idInto(&r.ID), idInto(&r.Session), &r.Text, &r.SourceRaw, &r.State, momentInto(&r.CreatedAt), momentInto(&r.StartedAt),
		momentInto(&r.EndedAt), momentInto(&r.Deadline), &r.TokensIn, &r.TokensOut, &r.CostMicros, &r.StopReason,
		&code, &failure.Message, &failure.Terminal,
		momentInto(&r.CancelAt), &r.CancelledBy, momentInto(&r.AwaitingSince), &r.Trace,
	)
	if code.Valid {
		failure.Code = event.FailureCode(code.Int64)
		r.Failure = &failure
	}
	return r, err
}

// Run implements store.Reader.
func (q queries) Run(ctx context.Context, session id.Session, run id.Run) (session.Run, error) {
	r, err := one(ctx, q, scanRun, selectRun+" WHERE id = $1 AND session_id = $2", run.String(), session.String())
	return r, wrap(err, "find run %s", run)
}

// Runs implements store.Reader.
func (q queries) Runs(ctx context.Context, f store.RunFilter) ([]session.Run, error) {
	var w where
	w.add("session_id = %s", f.Session.String())
	in(&w, "state", f.States)
	order, than := "ASC", ">"
	if f.Newest {
		order, than = "DESC", "<"
	}
	if !f.After.IsZero() {
		w.add("ordinal "+than+" (SELECT ordinal FROM runs WHERE id = %s AND session_id = %s)", f.After.String(), f.Session.String())
	}
	list, err := all(ctx, q, scanRun, selectRun+w.String()+" ORDER BY ordinal "+order+w.limit(f.Limit), w.args...)
	if err == nil && len(list) == 0 && !f.After.IsZero() {
		_, err = q.Run(ctx, f.Session, f.After) // an unknown place is not the end of the list
	}
	return list, wrap(err, "list runs")
}

// SaveRun implements store.Tx.
func (x *tx) SaveRun(r session.Run) error {
	var code any
	var failure session.Failure
	if r.Failure != nil {
		failure, code = *r.Failure, int64(r.Failure.Code)
	}
	_, err := x.write(saveRun,
		r.ID.String(), r.Session.String(), r.Text, blob(r.SourceRaw), string(r.State), created(r.CreatedAt), moment(r.StartedAt),
		moment(r.EndedAt), moment(r.Deadline), r.TokensIn, r.TokensOut, r.CostMicros, r.StopReason,
		code, failure.Message, failure.Terminal,
		moment(r.CancelAt), r.CancelledBy, moment(r.AwaitingSince), r.Trace,
	)
	return wrap(err, "save run %s", r.ID)
}
