-- +goose Up

-- A history holds a limited number of bytes (of payloads and native frames): past
-- it the oldest bodies are dropped, and dropped says how many bytes of a row were;
-- *_trimmed up to which seq bodies of that sort are dropped already.
ALTER TABLE events ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0 CHECK (dropped >= 0);
ALTER TABLE event_raw ADD COLUMN raw_dropped INTEGER NOT NULL DEFAULT 0 CHECK (raw_dropped >= 0);
ALTER TABLE sessions ADD COLUMN history_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN raw_bytes INTEGER NOT NULL DEFAULT 0; -- of history_bytes
ALTER TABLE sessions ADD COLUMN raw_trimmed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN output_trimmed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN speech_trimmed INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET raw_bytes = (SELECT COALESCE(SUM(LENGTH(raw)), 0) FROM event_raw WHERE session_id = sessions.id);
UPDATE sessions SET history_bytes = raw_bytes + (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM events WHERE session_id = sessions.id);
