package sqlstore

import (
	"context"
	"database/sql"
	"strings"

	"paddock/internal/id"
	"paddock/internal/store"
)

var (
	templateColumns = strings.Fields("id team_id name source base state digest reason created_by created_at_us updated_at_us")
	selectTemplate  = "SELECT " + strings.Join(templateColumns, ", ") + " FROM templates"
	saveTemplate    = insertInto("templates", templateColumns) + orReplace("id", templateColumns)

	// imagesInUse are the digests of templates, of sessions that are not over, and of
	// those whose machine is not gone yet.
	imagesInUse = `SELECT digest FROM templates WHERE digest <> ''
		UNION SELECT image FROM sessions WHERE image <> '' AND ` + lasting + `
		UNION SELECT image FROM sessions WHERE image <> '' AND id IN (SELECT session_id FROM machines)`
)

func scanTemplate(rows *sql.Rows) (t store.Template, err error) {
	err = rows.Scan(idInto(&t.ID), idInto(&t.Team), &t.Name, &t.Source, &t.Base, textInto(&t.State), &t.Digest, &t.Reason, &t.CreatedBy,
		momentInto(&t.CreatedAt), momentInto(&t.UpdatedAt))
	return t, err
}

// Template implements store.Reader.
func (q queries) Template(ctx context.Context, template id.Template) (store.Template, error) {
	t, err := one(ctx, q, scanTemplate, selectTemplate+" WHERE id = $1", template.String())
	return t, wrap(err, "find template %s", template)
}

// Templates implements store.Reader.
func (q queries) Templates(ctx context.Context, f store.TemplateFilter) ([]store.Template, error) {
	var w where
	if !f.Team.IsZero() {
		w.add("team_id = %s", f.Team.String())
	}
	if f.Name != "" {
		w.add("name = %s", f.Name)
	}
	in(&w, "state", f.States)
	if !f.Before.IsZero() {
		w.add("id < %s", f.Before.String())
	}
	list, err := all(ctx, q, scanTemplate, selectTemplate+w.String()+" ORDER BY id DESC"+w.limit(f.Limit), w.args...)
	return list, wrap(err, "list templates")
}

// ImagesInUse implements store.Reader.
func (q queries) ImagesInUse(ctx context.Context) ([]string, error) {
	list, err := all(ctx, q, func(rows *sql.Rows) (digest string, err error) {
		err = rows.Scan(&digest)
		return digest, err
	}, imagesInUse)
	return list, wrap(err, "list images in use")
}

// SaveTemplate implements store.Tx.
func (x *tx) SaveTemplate(t store.Template) error {
	_, err := x.write(saveTemplate, t.ID.String(), t.Team.String(), t.Name, t.Source, t.Base, string(t.State), t.Digest, t.Reason, t.CreatedBy,
		created(t.CreatedAt), created(t.UpdatedAt))
	return wrap(err, "save template %s", t.ID)
}

// DeleteTemplate implements store.Tx.
func (x *tx) DeleteTemplate(template id.Template) error {
	_, err := x.write("DELETE FROM templates WHERE id = $1", template.String())
	return wrap(err, "delete template %s", template)
}
