package sqlstore

import (
	"context"
	"database/sql"
	"strings"

	"paddock/internal/id"
	"paddock/internal/store"
)

var (
	machineColumns = strings.Fields("session_id sandbox_id handle epoch ack created_at_us held")
	selectMachine  = "SELECT " + strings.Join(machineColumns, ", ") + " FROM machines"
	saveMachine    = insertInto("machines", machineColumns) + orReplace("session_id", machineColumns)
)

func scanMachine(rows *sql.Rows) (m store.Machine, err error) {
	err = rows.Scan(idInto(&m.Session), idInto(&m.Sandbox), &m.Handle, &m.Epoch, &m.Ack, momentInto(&m.CreatedAt), &m.Held)
	return m, err
}

// Machine implements store.Reader.
func (q queries) Machine(ctx context.Context, session id.Session) (store.Machine, error) {
	m, err := one(ctx, q, scanMachine, selectMachine+" WHERE session_id = $1", session.String())
	return m, wrap(err, "find machine of %s", session)
}

// Machines implements store.Reader.
func (q queries) Machines(ctx context.Context) ([]store.Machine, error) {
	list, err := all(ctx, q, scanMachine, selectMachine+" ORDER BY session_id")
	return list, wrap(err, "list machines")
}

// SaveMachine implements store.Tx.
func (x *tx) SaveMachine(m store.Machine) error {
	_, err := x.write(saveMachine, m.Session.String(), m.Sandbox.String(), blob(m.Handle), m.Epoch, m.Ack, created(m.CreatedAt), blob(m.Held))
	return wrap(err, "save machine of %s", m.Session)
}

// DeleteMachine implements store.Tx.
func (x *tx) DeleteMachine(session id.Session) error {
	_, err := x.write("DELETE FROM machines WHERE session_id = $1", session.String())
	return wrap(err, "delete machine of %s", session)
}
