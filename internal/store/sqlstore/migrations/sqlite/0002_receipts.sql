-- +goose Up

-- Calls that were made under an Idempotency-Key. exec_id is set for execs only;
-- without an answer (a JSON document of status and headers, and a body) the call
-- is under way, or was when the server died.
CREATE TABLE receipts (
    team_id       TEXT NOT NULL REFERENCES teams (id),
    key           TEXT NOT NULL,
    request       TEXT NOT NULL,
    exec_id       TEXT,
    answer        BLOB,
    body          BLOB,
    created_at_us INTEGER NOT NULL,
    PRIMARY KEY (team_id, key)
) STRICT;

CREATE INDEX receipts_age ON receipts (created_at_us);
