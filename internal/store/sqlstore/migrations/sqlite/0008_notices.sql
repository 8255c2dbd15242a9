-- +goose Up

-- What is still to be told to somebody outside (channel says to whom); a row goes
-- when it was delivered. It is written with the event it tells of.
CREATE TABLE notices (
    ordinal       INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE,
    channel       TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    kind          TEXT NOT NULL,
    body          BLOB NOT NULL,
    created_at_us INTEGER NOT NULL,
    due_at_us     INTEGER NOT NULL,
    attempts      INTEGER NOT NULL
) STRICT;

CREATE INDEX notices_due ON notices (channel, due_at_us);
CREATE INDEX notices_age ON notices (created_at_us);
