-- +goose Up

-- The place of a run's span in a trace, for the server that sees the run's end;
-- empty when nobody traces.
ALTER TABLE runs ADD COLUMN trace TEXT NOT NULL DEFAULT '';
