package fakemodel

import "fmt"

// messages is Anthropic Messages.
type messages struct{}

func parseMessages(body object) request {
	r := request{model: str(body["model"]), stream: body["stream"] == true}
	for _, t := range list(body["tools"]) {
		o := objectOf(t)
		r.tools = append(r.tools, tool{name: str(o["name"]), schema: objectOf(o["input_schema"])})
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
		for _, p := range parts {
			switch o := objectOf(p); o["type"] {
			case "text":
				r.addUser(str(o["text"]))
			case "tool_result":
				r.results = append(r.results, textOf(o["content"]))
			}
		}
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

// signature is that of a thought; agents give it back and look at it no further.
const signature = "c2NyaXB0ZWQ="

func stopReason(a reply) string {
	if a.call != nil {
		return "tool_use"
	}
	return "end_turn"
}

func (messages) whole(r request, a reply, id string) object {
	var content []object
	if a.thought != "" {
		content = append(content, object{"type": "thinking", "thinking": a.thought, "signature": signature})
	}
	content = append(content, object{"type": "text", "text": a.text()})
	if a.call != nil {
		content = append(content, object{"type": "tool_use", "id": "toolu_" + id, "name": a.call.tool.name, "input": a.call.input})
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
	index := 0
	begin := func(block object) { send("content_block_start", object{"index": index, "content_block": block}) }
	more := func(delta object) { send("content_block_delta", object{"index": index, "delta": delta}) }
	end := func() {
		send("content_block_stop", object{"index": index})
		index++
	}
	if a.thought != "" {
		begin(object{"type": "thinking", "thinking": "", "signature": ""})
		more(object{"type": "thinking_delta", "thinking": a.thought})
		more(object{"type": "signature_delta", "signature": signature})
		end()
	}
	begin(object{"type": "text", "text": ""})
	if !s.pieces(a, func(piece string) { more(object{"type": "text_delta", "text": piece}) }) {
		return
	}
	end()
	if a.call != nil {
		begin(object{"type": "tool_use", "id": "toolu_" + id, "name": a.call.tool.name, "input": object{}})
		more(object{"type": "input_json_delta", "partial_json": a.call.arguments()})
		end()
	}
	send("message_delta", object{"delta": object{"stop_reason": stopReason(a), "stop_sequence": nil}, "usage": object{"output_tokens": tokens(len(a.text()))}})
	send("message_stop", object{})
}
