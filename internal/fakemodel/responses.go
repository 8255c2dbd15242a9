package fakemodel

// responses is OpenAI Responses.
type responses struct{ chat }

func parseResponses(body object) request {
	r := request{model: str(body["model"]), stream: body["stream"] == true}
	input := list(body["input"])
	offered := list(body["tools"])
	for _, v := range input { // of models that it knows, codex offers tools so
		if item := objectOf(v); item["type"] == "additional_tools" {
			offered = append(offered, list(item["tools"])...)
		}
	}
	for _, v := range offered {
		if t := objectOf(v); t["type"] == "namespace" {
			for _, inner := range list(t["tools"]) {
				r.tools = append(r.tools, responseTool(objectOf(inner), str(t["name"])))
			}
		} else {
			r.tools = append(r.tools, responseTool(t, ""))
		}
	}
	if text, ok := body["input"].(string); ok {
		r.addUser(text)
	}
	for _, v := range input {
		switch item := objectOf(v); item["type"] {
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
			r.results = append(r.results, textOf(item["output"]))
		case "message", nil:
			if item["role"] != "user" {
				continue
			}
			if text, ok := item["content"].(string); ok {
				r.addUser(text)
			}
			for _, part := range list(item["content"]) {
				r.addUser(str(objectOf(part)["text"]))
			}
		}
	}
	return r
}

func responseTool(t object, space string) tool {
	name := str(t["name"])
	if name == "" {
		name = str(t["type"]) // one of the protocol's own, such as local_shell
	}
	return tool{name: name, schema: objectOf(t["parameters"]), custom: t["type"] == "custom", space: space}
}

// items are the parts of an answer, in order.
func (responses) items(a reply, id string) (items []object) {
	if a.thought != "" {
		items = append(items, object{
			"id": "rs_" + id, "type": "reasoning", "encrypted_content": "eA==", "summary": []object{{"type": "summary_text", "text": a.thought}},
		})
	}
	items = append(items, object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": a.text(), "annotations": []any{}}},
	})
	if a.call == nil {
		return items
	}
	item := object{"id": "fc_" + id, "type": "function_call", "call_id": "call_" + id, "name": a.call.tool.name, "arguments": a.call.arguments(), "status": "completed"}
	if a.call.tool.custom {
		item = object{"id": "ctc_" + id, "type": "custom_tool_call", "call_id": "call_" + id, "name": a.call.tool.name, "input": a.call.text, "status": "completed"}
	}
	if a.call.tool.space != "" {
		item["namespace"] = a.call.tool.space
	}
	return append(items, item)
}

func (responses) envelope(r request, id, status string, output []object, usage any) object {
	return object{"id": "resp_" + id, "object": "response", "created_at": 0, "status": status, "model": r.model, "output": output, "usage": usage}
}

func responseUsage(r request, a reply) object {
	in, out := tokens(r.size), tokens(len(a.text()))
	return object{
		"input_tokens": in, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": out,
		"output_tokens_details": object{"reasoning_tokens": tokens(len(a.thought))}, "total_tokens": in + out,
	}
}

func (d responses) whole(r request, a reply, id string) object {
	return d.envelope(r, id, "completed", d.items(a, id), responseUsage(r, a))
}

func (d responses) stream(s *stream, r request, a reply, id string) {
	number := 0
	send := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, number
		number++
		s.event(kind, fields)
	}
	send("response.created", object{"response": d.envelope(r, id, "in_progress", []object{}, nil)})
	items := d.items(a, id)
	for i, item := range items {
		at := func(fields object) object {
			fields["output_index"], fields["item_id"] = i, item["id"]
			return fields
		}
		begun := object{"id": item["id"], "type": item["type"]}
		switch item["type"] {
		case "reasoning":
			begun["summary"] = []any{}
			send("response.output_item.added", at(object{"item": begun}))
			send("response.reasoning_summary_part.added", at(object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}))
			send("response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": a.thought}))
		case "message":
			begun["role"], begun["status"], begun["content"] = "assistant", "in_progress", []any{}
			send("response.output_item.added", at(object{"item": begun}))
			send("response.content_part.added", at(object{"content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []any{}}}))
			if !s.pieces(a, func(piece string) {
				send("response.output_text.delta", at(object{"content_index": 0, "delta": piece}))
			}) {
				return
			}
			send("response.output_text.done", at(object{"content_index": 0, "text": a.text()}))
		default:
			send("response.output_item.added", at(object{"item": item}))
		}
		send("response.output_item.done", at(object{"item": item}))
	}
	send("response.completed", object{"response": d.envelope(r, id, "completed", items, responseUsage(r, a))})
}
