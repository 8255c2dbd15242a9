-- +goose Up

-- Environments are found by content, listed, and removed by people. What was
-- made before has no digest (''), so nothing is taken for the same as it.
ALTER TABLE environments ADD COLUMN content_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE environments ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE environments ADD COLUMN removed_at_us INTEGER;
CREATE INDEX environments_lasting ON environments (team_id, id) WHERE removed_at_us IS NULL;
CREATE INDEX environments_name ON environments (team_id, name, id) WHERE removed_at_us IS NULL;
CREATE INDEX environments_content ON environments (team_id, content_hash, id) WHERE removed_at_us IS NULL;
CREATE INDEX sessions_environment ON sessions (environment_id, id);
