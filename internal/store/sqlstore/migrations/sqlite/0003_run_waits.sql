-- +goose Up

-- A cancel that was accepted is carried out also by the next server; the time
-- that a run waits for people does not count toward its limit.
ALTER TABLE runs ADD COLUMN cancel_at_us INTEGER;
ALTER TABLE runs ADD COLUMN cancelled_by TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN awaiting_since_us INTEGER;
