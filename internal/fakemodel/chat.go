package fakemodel

import "fmt"

// chat is OpenAI Chat Completions.
type chat struct{}

func parseChat(body object) request {
	r := request{model: str(body["model"]), stream: body["stream"] == true}
	for _, t := range list(body["tools"]) {
		f := objectOf(objectOf(t)["function"])
		r.tools = append(r.tools, tool{name: str(f["name"]), schema: objectOf(f["parameters"])})
	}
	for _, v := range list(body["messages"]) {
		switch m := objectOf(v); m["role"] {
		case "user":
			r.addUser(textOf(m["content"]))
		case "tool":
			r.results = append(r.results, textOf(m["content"]))
		}
	}
	return r
}

func (chat) failure(status int) object {
	kind := map[int]string{401: "invalid_api_key", 429: "rate_limit_exceeded", 400: "invalid_request_error"}[status]
	if kind == "" {
		kind = "server_error"
	}
	return object{"error": object{"message": fmt.Sprintf("scripted failure %d", status), "type": kind, "code": kind}}
}

func chatUsage(r request, a reply) object {
	in, out := tokens(r.size), tokens(len(a.text()))
	return object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

func chatCall(a reply, id string) []object {
	return []object{{"index": 0, "id": "call_" + id, "type": "function", "function": object{"name": a.call.tool.name, "arguments": a.call.arguments()}}}
}

func finishReason(a reply) string {
	if a.call != nil {
		return "tool_calls"
	}
	return "stop"
}

func (chat) whole(r request, a reply, id string) object {
	message := object{"role": "assistant", "content": a.text()}
	if a.thought != "" {
		message["reasoning_content"] = a.thought
	}
	if a.call != nil {
		message["tool_calls"] = chatCall(a, id)
	}
	return object{
		"id": "chatcmpl-" + id, "object": "chat.completion", "created": 0, "model": r.model, "usage": chatUsage(r, a),
		"choices": []object{{"index": 0, "message": message, "finish_reason": finishReason(a)}},
	}
}

func (chat) stream(s *stream, r request, a reply, id string) {
	head := func(choices []object) object {
		return object{"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 0, "model": r.model, "choices": choices}
	}
	delta := func(d object, finish any) {
		s.event("", head([]object{{"index": 0, "delta": d, "finish_reason": finish}}))
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	if a.thought != "" {
		delta(object{"reasoning_content": a.thought}, nil)
	}
	if !s.pieces(a, func(piece string) { delta(object{"content": piece}, nil) }) {
		return
	}
	if a.call != nil {
		delta(object{"tool_calls": chatCall(a, id)}, nil)
	}
	delta(object{}, finishReason(a))
	last := head([]object{})
	last["usage"] = chatUsage(r, a)
	s.event("", last)
	s.event("", "[DONE]")
}
