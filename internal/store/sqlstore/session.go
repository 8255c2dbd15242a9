package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// The columns of a session: those of its identity never change, those of its
// history change only with Append and TrimHistory.
var (
	sessionIdentity = strings.Fields("id team_id name name_key adapter created_at_us")
	sessionHistory  = strings.Fields("last_seq last_event_at_us history_bytes")
	sessionMutable  = strings.Fields(`generation environment_id state pause_reason pause_pending reason terminal
		idle_timeout_ms keep_warm resume_on_topoff openai_session active_at_us deadline_us ended_at_us sandbox_id memory tokens_in tokens_out cost_micros restored_to_us
		adapter_version template_id image`)

	sessionColumns = append(append(append([]string{}, sessionIdentity...), sessionHistory...), sessionMutable...)
	selectSession  = "SELECT " + strings.Join(sessionColumns, ", ") + " FROM sessions"
	insertSession  = insertInto("sessions", sessionColumns)
	updateSession  = updateSessionText()

	// liveFirst orders the sessions of one name: the live holder, then the others
	// from the last one made.
	liveFirst = " ORDER BY CASE WHEN state IN (" + quoted(holdsName) + ") THEN 0 ELSE 1 END, ordinal DESC LIMIT 1"
)

// lasting is the condition of the index sessions_lasting, word for word: the
// planner uses that for queries which have it.
const lasting = "state NOT IN ('failed', 'destroyed')"

func ended(s session.State) bool { return s == session.Failed || s == session.Destroyed }

func holdsName(s session.State) bool { return s.HoldsName() }
func holdsSlot(s session.State) bool { return s.HoldsSlot() }

// quoted lists the states for which the predicate holds, as SQL texts.
func quoted(holds func(session.State) bool) string {
	var list []string
	for _, s := range session.States {
		if holds(s) {
			list = append(list, "'"+string(s)+"'")
		}
	}
	return strings.Join(list, ", ")
}

func updateSessionText() string {
	sets := make([]string, len(sessionMutable))
	for i, c := range sessionMutable {
		sets[i] = fmt.Sprintf("%s = $%d", c, i+3)
	}
	return "UPDATE sessions SET " + strings.Join(sets, ", ") + " WHERE id = $1 AND generation = $2"
}

func sessionMutableValues(s session.Session) []any {
	return []any{
		s.Generation, ref(s.Environment), string(s.State), string(s.PauseReason), string(s.PausePending), s.Reason, s.Terminal,
		s.IdleTimeout.Milliseconds(), s.KeepWarm, s.ResumeOnTopoff, s.OpenAISession, moment(s.ActiveAt), moment(s.Deadline),
		moment(s.EndedAt), ref(s.Sandbox), s.Memory, s.TokensIn, s.TokensOut, s.CostMicros, moment(s.RestoredTo), s.AdapterVersion,
		ref(s.Template), s.Image,
	}
}

func scanSession(rows *sql.Rows) (s session.Session, err error) {
	var nameKey string
	err = rows.Scan(
		idInto(&s.ID), idInto(&s.Team), &s.Name, &nameKey, &s.Adapter, momentInto(&s.CreatedAt),
		&s.LastSeq, momentInto(&s.LastEventAt), &s.History,
		&s.Generation, idInto(&s.Environment), &s.State, &s.PauseReason, &s.PausePending, &s.Reason, &s.Terminal,
		millisInto(&s.IdleTimeout), &s.KeepWarm, &s.ResumeOnTopoff, &s.OpenAISession, momentInto(&s.ActiveAt), momentInto(&s.Deadline),
		momentInto(&s.EndedAt), idInto(&s.Sandbox), &s.Memory, &s.TokensIn, &s.TokensOut, &s.CostMicros, momentInto(&s.RestoredTo), &s.AdapterVersion,
		idInto(&s.Template), &s.Image,
	)
	return s, err
}

// Session implements store.Reader. Names cannot look like ids, so what looks
// like one is one.
func (q queries) Session(ctx context.Context, team id.Team, ref string) (session.Session, error) {
	var s session.Session
	var err error
	if id.LooksLike[id.Session](ref) {
		s, err = one(ctx, q, scanSession, selectSession+" WHERE id = $1 AND team_id = $2", ref, team.String())
	} else {
		s, err = one(ctx, q, scanSession, selectSession+" WHERE team_id = $1 AND name_key = $2"+liveFirst, team.String(), session.NameKey(ref))
	}
	return s, wrap(err, "find session %q", ref)
}

// SessionByID implements store.Reader.
func (q queries) SessionByID(ctx context.Context, session id.Session) (session.Session, error) {
	s, err := one(ctx, q, scanSession, selectSession+" WHERE id = $1", session.String())
	return s, wrap(err, "find session %s", session)
}

// Sessions implements store.Reader.
func (q queries) Sessions(ctx context.Context, f store.SessionFilter) ([]session.Session, error) {
	var w where
	if !f.Team.IsZero() {
		w.add("team_id = %s", f.Team.String())
	}
	in(&w, "state", f.States)
	if len(f.States) > 1 && !slices.ContainsFunc(f.States, ended) {
		w.add(lasting)
	}
	if f.Name != "" {
		w.add("name_key = %s", session.NameKey(f.Name))
	}
	if f.Search != "" {
		pattern := "%" + likeEscaper.Replace(strings.ToLower(f.Search)) + "%"
		w.add(`(name_key LIKE %s ESCAPE '\' OR id LIKE %s ESCAPE '\')`, pattern, pattern)
	}
	if !f.Environment.IsZero() {
		w.add("environment_id = %s", f.Environment.String())
	}
	if f.Adapter != "" {
		w.add("adapter = %s", f.Adapter)
	}
	if f.AdapterVersion != "" {
		w.add("adapter_version = %s", f.AdapterVersion)
	}
	if !f.Template.IsZero() {
		w.add("template_id = %s", f.Template.String())
	}
	if !f.Before.IsZero() {
		w.add("id < %s", f.Before.String())
	}
	text := selectSession + w.String() + " ORDER BY id DESC" + w.limit(f.Limit)
	list, err := all(ctx, q, scanSession, text, w.args...)
	return list, wrap(err, "list sessions")
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// CreateSession implements store.Tx.
func (x *tx) CreateSession(s session.Session, limit int) error {
	// Whoever else creates for this team waits here, so the counts below hold.
	ctx := context.Background()
	if _, err := one(ctx, x.queries, scanTeam, selectTeam+" WHERE id = $1"+x.dialect.lockRow, s.Team.String()); err != nil {
		return fmt.Errorf("create session %s: team %s: %w", s.Name, s.Team, err)
	}
	held, err := one(ctx, x.queries, scanCount, "SELECT COUNT(*) FROM sessions WHERE team_id = $1 AND name_key = $2 AND state IN ("+
		quoted(holdsName)+")", s.Team.String(), session.NameKey(s.Name))
	if err != nil {
		return fmt.Errorf("create session %s: look for its name: %w", s.Name, err)
	}
	if held > 0 {
		return fmt.Errorf("create session %s: %w", s.Name, store.ErrNameInUse)
	}
	if limit > 0 {
		slots, err := one(ctx, x.queries, scanCount, "SELECT COUNT(*) FROM sessions WHERE team_id = $1 AND state IN ("+
			quoted(holdsSlot)+")", s.Team.String())
		if err != nil {
			return fmt.Errorf("create session %s: count slots: %w", s.Name, err)
		}
		if slots >= int64(limit) {
			return fmt.Errorf("create session %s: %w", s.Name, store.ErrNoSlot)
		}
	}
	values := append([]any{
		s.ID.String(), s.Team.String(), s.Name, session.NameKey(s.Name), s.Adapter, created(s.CreatedAt),
		s.LastSeq, moment(s.LastEventAt), s.History,
	}, sessionMutableValues(s)...)
	if _, err := x.write(insertSession, values...); err != nil {
		return fmt.Errorf("create session %s: %w", s.Name, err)
	}
	return nil
}

// UpdateSession implements store.Tx.
func (x *tx) UpdateSession(s *session.Session) error {
	next := *s
	next.Generation++
	values := append([]any{s.ID.String(), s.Generation}, sessionMutableValues(next)...)
	n, err := x.write(updateSession, values...)
	if err != nil {
		return fmt.Errorf("update session %s: %w", s.ID, err)
	}
	if n == 0 {
		if _, err := x.SessionByID(context.Background(), s.ID); err != nil {
			return fmt.Errorf("update session: %w", err)
		}
		return fmt.Errorf("update session %s: %w", s.ID, store.ErrStale)
	}
	s.Generation = next.Generation
	return nil
}

func scanCount(rows *sql.Rows) (n int64, err error) {
	err = rows.Scan(&n)
	return n, err
}

// wrap says what was being done when err happened; nil stays nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
