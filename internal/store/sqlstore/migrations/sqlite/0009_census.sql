-- +goose Up

-- To count what lives without reading what has ended.
CREATE INDEX sessions_alive ON sessions (state) WHERE state <> 'destroyed';
CREATE INDEX runs_open ON runs (state) WHERE state IN ('queued', 'running', 'awaiting_hitl');
