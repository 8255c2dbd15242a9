-- +goose Up

-- Lists of what there is do not look at what was: most sessions of a server that
-- has been in use for long have ended. Lists of one state find theirs in order.
CREATE INDEX sessions_lasting ON sessions (team_id, id) WHERE state NOT IN ('failed', 'destroyed');
DROP INDEX sessions_state;
CREATE INDEX sessions_state ON sessions (team_id, state, id);
