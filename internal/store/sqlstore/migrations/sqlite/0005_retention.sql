-- +goose Up

-- The history of destroyed sessions is forgotten some time after their end: the
-- first index finds whose turn it is, the second one lets a run go without a
-- look at every approval.
CREATE INDEX sessions_destroyed ON sessions (ended_at_us) WHERE state = 'destroyed';
CREATE INDEX approvals_run ON approvals (run_id);
