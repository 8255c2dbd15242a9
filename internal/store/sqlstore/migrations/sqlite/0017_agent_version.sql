-- +goose Up

-- The version of the installed agent that a session uses; '' where none is pinned.
ALTER TABLE sessions ADD COLUMN adapter_version TEXT NOT NULL DEFAULT '';
