-- +goose Up

-- A cancel that was accepted is carried out also by the next server; the time
-- that a run waits for people does not count toward its limit.
ALTER TABLE runs ADD COLUMN cancel_at_us INTEGER;
ALTER TABLE runs ADD COLUMN cancelled_by TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN awaiting_since_us INTEGER;
UPDATE runs SET awaiting_since_us = (SELECT min(asked_at_us) FROM approvals WHERE run_id = runs.id AND state IN ('pending', 'deferred'))
    WHERE state = 'awaiting_hitl';
