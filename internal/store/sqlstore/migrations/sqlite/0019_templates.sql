-- +goose Up

CREATE TABLE templates (
    id TEXT PRIMARY KEY NOT NULL,
    team_id TEXT NOT NULL REFERENCES teams (id),
    name TEXT NOT NULL,
    source TEXT NOT NULL,
    base TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('building', 'ready', 'failed')),
    digest TEXT NOT NULL CHECK (state <> 'ready' OR digest <> ''),
    reason TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX templates_name ON templates (team_id, name);

-- The template of a session, and the image that it has as its root; those of the
-- host's own system have neither.
ALTER TABLE sessions ADD COLUMN template_id TEXT;
ALTER TABLE sessions ADD COLUMN image TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_template ON sessions (template_id, id) WHERE template_id IS NOT NULL;
