-- +goose Up

-- Who asks for a few kinds of events does not look through all that was said and
-- done: most events are of three kinds, and these two are of all others.
CREATE INDEX events_rare ON events (session_id, seq, kind)
    WHERE kind <> 'run.token_delta' AND kind <> 'run.tool_call_started' AND kind <> 'run.tool_call_completed';
CREATE INDEX events_rare_team ON events (team, place, kind)
    WHERE kind <> 'run.token_delta' AND kind <> 'run.tool_call_started' AND kind <> 'run.tool_call_completed';
