package fakemodel

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// gemini is Gemini's generateContent.
type gemini struct{}

func parseGemini(body object) request {
	r := request{model: "scripted", schema: objectOf(objectOf(body["generationConfig"])["responseJsonSchema"])}
	for _, v := range list(body["tools"]) {
		offered := objectOf(v)
		declared := list(offered["functionDeclarations"])
		if declared == nil {
			declared = list(offered["function_declarations"])
		}
		for _, f := range declared {
			o := objectOf(f)
			schema := objectOf(o["parametersJsonSchema"])
			if schema == nil {
				schema = objectOf(o["parameters"])
			}
			r.tools = append(r.tools, tool{name: str(o["name"]), schema: schema})
		}
	}
	for _, v := range list(body["contents"]) {
		content := objectOf(v)
		if role := cmp.Or(str(content["role"]), "user"); role != "user" && role != "function" {
			continue
		}
		for _, p := range list(content["parts"]) {
			part := objectOf(p)
			if result := objectOf(part["functionResponse"]); result != nil {
				text, _ := json.Marshal(result["response"]) // it was JSON before
				r.results = append(r.results, string(text))
			} else {
				r.addUser(str(part["text"]))
			}
		}
	}
	return r
}

func (gemini) failure(status int) object {
	word := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE",
	}[status]
	return object{"error": object{"code": status, "message": fmt.Sprintf("scripted failure %d", status), "status": cmp.Or(word, "INTERNAL")}}
}

func (gemini) chunk(r request, a reply, id, finish string, parts ...object) object {
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	in, out := tokens(r.size), tokens(len(a.text()))
	return object{
		"candidates": []object{candidate}, "modelVersion": r.model, "responseId": "gen_" + id,
		"usageMetadata": object{"promptTokenCount": in, "candidatesTokenCount": out, "totalTokenCount": in + out},
	}
}

// parts are what an answer has besides its text: before it and behind it.
func (gemini) parts(a reply, id string) (before, behind []object) {
	if a.thought != "" {
		before = []object{{"text": a.thought, "thought": true}}
	}
	if a.call != nil {
		behind = []object{{"functionCall": object{"id": "call_" + id, "name": a.call.tool.name, "args": a.call.input}}}
	}
	return before, behind
}

func (d gemini) whole(r request, a reply, id string) object {
	before, behind := d.parts(a, id)
	return d.chunk(r, a, id, "STOP", append(append(before, object{"text": a.text()}), behind...)...)
}

func (d gemini) stream(s *stream, r request, a reply, id string) {
	before, behind := d.parts(a, id)
	if before != nil {
		s.event("", d.chunk(r, a, id, "", before...))
	}
	if !s.pieces(a, func(piece string) { s.event("", d.chunk(r, a, id, "", object{"text": piece})) }) {
		return
	}
	if behind == nil {
		behind = []object{{"text": ""}}
	}
	s.event("", d.chunk(r, a, id, "STOP", behind...))
}
