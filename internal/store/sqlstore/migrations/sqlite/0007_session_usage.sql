-- +goose Up

-- What the runs of a session used, all together.
ALTER TABLE sessions ADD COLUMN tokens_in INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN tokens_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cost_micros INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET
    tokens_in = (SELECT coalesce(sum(tokens_in), 0) FROM runs WHERE session_id = sessions.id),
    tokens_out = (SELECT coalesce(sum(tokens_out), 0) FROM runs WHERE session_id = sessions.id),
    cost_micros = (SELECT coalesce(sum(cost_micros), 0) FROM runs WHERE session_id = sessions.id);
