# An agent (ACP over standard input and output) that floods: a prompt "N" makes
# it report N tool calls as fast as it can, and "N R" at most R of them in each
# fifth of a second.
import json
import sys
import time


def say(message):
    sys.stdout.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")


calls = 0


def report(session, n):
    global calls
    lines = []
    for _ in range(n):
        calls += 1
        lines.append(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {
            "sessionId": session, "update": {
                "sessionUpdate": "tool_call", "toolCallId": "call-%d" % calls, "title": "look at file %d" % calls,
                "kind": "read", "status": "completed", "rawInput": {"path": "folder/file-%d.txt" % calls}}}}))
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    call = json.loads(line)
    method, params = call.get("method"), call.get("params", {})
    if method == "initialize":
        say({"id": call["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    elif method == "session/new":
        say({"id": call["id"], "result": {"sessionId": "flood"}})
    elif method == "session/prompt":
        words = params["prompt"][0]["text"].split()
        left, rate = int(words[0]), int(words[1]) if len(words) > 1 else 0
        due = time.monotonic()
        while left > 0:
            n = min(left, rate or 500)
            report(params["sessionId"], n)
            left -= n
            if rate:
                due += 0.2
                time.sleep(max(0, due - time.monotonic()))
        say({"id": call["id"], "result": {"stopReason": "end_turn"}})
    elif "id" in call and method:
        say({"id": call["id"], "error": {"code": -32601, "message": "not found"}})
    sys.stdout.flush()
