package fakemodel

import "fmt"

// messages is Anthropic Messages.
type messages struct{}

func parseMessages(body object) request {
	r := request{model: str(body["model"]), stream: body["stream"] == true}
	for _, t := range list(body["tools"]) {
		o := objectOf(t)
		r.tools = append(r.tools, tool{str(o["name"]), objectOf(o["input_schema"])})
	}
	for _, v := range list(body["messages"]) {
		m := objectOf(v)
		if m["role"] != "user" {
			continue
		}
		parts := list(m["content"])
		if text, ok := m["content"].(string); ok {
			parts = []any{object{"type": "text", "text": text}}
		}
		var results []string
		for _, p := range parts {
			switch o := objectOf(p); o["type"] {
			case "text":
				r.addUser(str(o["text"]))
			case "tool_result":
				results = append(results, textOf(o["content"]))
			}
		}
		r.results = append(r.results, results...)
	}
	return r
}

func (messages) failure(status int) object {
	kind := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 529: "overloaded_error",
	}[status]
	if kind == "" {
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": fmt.Sprintf("scripted failure %d", status)}}
}

func stopReason(a reply) string {
	if a.call != nil {
		return "tool_use"
	}
	return "end_turn"
}

func (messages) whole(r request, a reply, id string) object {
	content := []object{{"type": "text", "text": a.text()}}
	if a.call != nil {
		content = append(content, object{"type": "tool_use", "id": "toolu_" + id, "name": a.call.tool, "input": a.call.input})
	}
	return object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": r.model, "content": content,
		"stop_reason": stopReason(a), "stop_sequence": nil, "usage": messageUsage(r, a),
	}
}

func messageUsage(r request, a reply) object {
	return object{
		"input_tokens": tokens(r.size), "output_tokens": tokens(len(a.text())),
		"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
	}
}

func (messages) stream(s *stream, r request, a reply, id string) {
	send := func(kind string, fields object) {
		fields["type"] = kind
		s.event(kind, fields)
	}
	send("message_start", object{"message": object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": r.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": messageUsage(r, reply{}),
	}})
	send("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
	if !s.pieces(a, func(piece string) {
		send("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": piece}})
	}) {
		return
	}
	send("content_block_stop", object{"index": 0})
	if a.call != nil {
		send("content_block_start", object{"index": 1, "content_block": object{"type": "tool_use", "id": "toolu_" + id, "name": a.call.tool, "input": object{}}})
		send("content_block_delta", object{"index": 1, "delta": object{"type": "input_json_delta", "partial_json": a.call.arguments()}})
		send("content_block_stop", object{"index": 1})
	}
	send("message_delta", object{"delta": object{"stop_reason": stopReason(a), "stop_sequence": nil}, "usage": object{"output_tokens": tokens(len(a.text()))}})
	send("message_stop", object{})
}
