INSERT INTO teams VALUES ('team_01h455vb4pex5vsknk084sn02q', 'default', 1700000000000001, 1, 12);
INSERT INTO tokens VALUES ('tok_01h455vb4pex5vsknk084sn02q', 'team_01h455vb4pex5vsknk084sn02q', 'first', 'cafe', 1700000000000002);
INSERT INTO environments VALUES ('env_01h455vb4pex5vsknk084sn02q', 'team_01h455vb4pex5vsknk084sn02q', 'old', 'agent: demo',
    CAST('{"agent":"demo","size":"small","idle_timeout_ns":900000000000,"template":"host","permissions":{"default":"ask"},"max_run_time_ns":7200000000000}' AS BLOB), 1700000000000003,
    'c0ffee', 'laptop', 1700000000000021, X'00FE');
INSERT INTO sessions VALUES (7, 'sess_01h455vb4pex5vsknk084sn02q', 'team_01h455vb4pex5vsknk084sn02q', 'Old', 'old',
    'env_01h455vb4pex5vsknk084sn02q', 'demo', 'paused', 12, 'idle', 'manual', 'why', 'over', 900000, 1, 1, 'oai',
    1700000000000004, 1700000000000008, 1700000000000005, 1700000000000006, 1700000000000007, 2, 'sbx_01h455vb4pex5vsknk084sn02q', 'kept', 20, 30, 40, 47, 2, 1, 1, 1,
    1700000000000020, '1.2.3', 'tmpl_01h455vb4pex5vsknk084sn02q', 'sha256:abc');
INSERT INTO templates VALUES ('tmpl_01h455vb4pex5vsknk084sn02q', 'team_01h455vb4pex5vsknk084sn02q', 'tools', 'registry/x', 'base', 'ready', 'sha256:abc', 'once', 'laptop',
    1700000000000022, 1700000000000023);
INSERT INTO runs VALUES (9, 'run_01h455vb4pex5vsknk084sn02q', 'sess_01h455vb4pex5vsknk084sn02q', 'hello', X'00FF', 'failed',
    1700000000000009, 1700000000000010, 1700000000000011, 1700000000000012, 1, 2, 3, 'refusal', 4, 'gone', 1,
    1700000000000018, 'you', 1700000000000019, 'trail');
INSERT INTO approvals VALUES (3, 'hitl_01h455vb4pex5vsknk084sn02q', 'sess_01h455vb4pex5vsknk084sn02q', 'run_01h455vb4pex5vsknk084sn02q',
    'k1', CAST('{"hitl_id":"h","action":"HITL_ACTION_BASH","details":{"command":"ls"}}' AS BLOB), 'deferred', 'me', 'later',
    1700000000000013, 1700000000000014, 1700000000000015, 'team_01h455vb4pex5vsknk084sn02q', CAST('{"command":"id"}' AS BLOB),
    'grant_01h455vb4pex5vsknk084sn02q');
INSERT INTO grants VALUES (4, 'grant_01h455vb4pex5vsknk084sn02q', 'sess_01h455vb4pex5vsknk084sn02q', 'hitl_01h455vb4pex5vsknk084sn02q',
    CAST('{"action":"HITL_ACTION_BASH","tool":"bash","input":{"command":"ls"}}' AS BLOB), 'me', 'fine', 1700000000000020, NULL, '');
INSERT INTO machines VALUES ('sess_01h455vb4pex5vsknk084sn02q', 'sbx_01h455vb4pex5vsknk084sn02q', X'7B7D', 5, 6, 1700000000000016, X'00FD');
INSERT INTO events VALUES ('sess_01h455vb4pex5vsknk084sn02q', 1, 'evt_01h455vb4pex5vsknk084sn02q', NULL, 1700000000000008,
    'session.updated', CAST('{"status":"SESSION_STATUS_READY"}' AS BLOB), '', 1, 11, 5);
INSERT INTO events VALUES ('sess_01h455vb4pex5vsknk084sn02q', 2, 'evt_01h455vb4pex5vsknk084sn02r', 'run_01h455vb4pex5vsknk084sn02q', 1700000000000008,
    'run.token_delta', CAST('{"text":"x"}' AS BLOB), 'acp', 1, 12, 0);
INSERT INTO event_raw VALUES ('sess_01h455vb4pex5vsknk084sn02q', 2, X'00FF', 7);
INSERT INTO receipts VALUES ('team_01h455vb4pex5vsknk084sn02q', 'key', 'digest', 'exec_01h455vb4pex5vsknk084sn02q',
    CAST('{"status":201,"header":{"Location":"x"}}' AS BLOB), X'7B7D', 1700000000000017);
