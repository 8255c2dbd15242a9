package fakemodel

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// speaker writes requests of one protocol.
type speaker struct {
	path, streamPath string // the same but for Gemini
	request          func(user string, tools []string, stream bool) object
	thought          string // how a streamed thought looks
	called           string // how a streamed call of bash with "ls" looks
	limited          string // a refusal with 429
}

var speakers = map[string]speaker{
	"messages": {
		path: "/v1/messages", streamPath: "/v1/messages", thought: `"thinking_delta"`, called: `"partial_json":"{\"command\":\"ls\"}"`, limited: `"rate_limit_error"`,
		request: func(user string, tools []string, stream bool) object {
			return object{"stream": stream, "messages": []object{{"role": "user", "content": user}}, "tools": offered(tools, func(name string, schema object) object {
				return object{"name": name, "input_schema": schema}
			})}
		},
	},
	"responses": {
		path: "/v1/responses", streamPath: "/responses", thought: `"response.reasoning_summary_text.delta"`,
		called: `"arguments":"{\"command\":\"ls\"}"`, limited: `"rate_limit_exceeded"`,
		request: func(user string, tools []string, stream bool) object {
			return object{
				"stream": stream, "input": []object{{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": user}}}},
				"tools": offered(tools, func(name string, schema object) object {
					return object{"type": "function", "name": name, "parameters": schema}
				}),
			}
		},
	},
	"chat": {
		path: "/chat/completions", streamPath: "/v1/chat/completions", thought: `"reasoning_content"`,
		called: `"arguments":"{\"command\":\"ls\"}"`, limited: `"rate_limit_exceeded"`,
		request: func(user string, tools []string, stream bool) object {
			return object{"stream": stream, "messages": []object{{"role": "user", "content": user}}, "tools": offered(tools, func(name string, schema object) object {
				return object{"type": "function", "function": object{"name": name, "parameters": schema}}
			})}
		},
	},
	"gemini": {
		path: "/v1beta/models/m:generateContent", streamPath: "/v1beta/models/m:streamGenerateContent", thought: `"thought":true`,
		called: `"args":{"command":"ls"}`, limited: `"RESOURCE_EXHAUSTED"`,
		request: func(user string, tools []string, _ bool) object {
			return object{
				"contents": []object{{"role": "user", "parts": []object{{"text": user}}}},
				"tools": []object{{"functionDeclarations": offered(tools, func(name string, schema object) object {
					return object{"name": name, "parametersJsonSchema": schema}
				})}},
			}
		},
	},
}

func offered(names []string, as func(name string, schema object) object) []object {
	tools := []object{}
	for _, name := range names {
		tools = append(tools, as(name, object{"type": "object", "properties": object{"command": object{"type": "string"}, "text": object{}, "questions": object{}}}))
	}
	return tools
}

// theatre is one server that is asked.
type theatre struct {
	*testing.T
	url string
}

func (h theatre) ask(s speaker, user string, stream bool, tools ...string) (status int, body string, cut bool) {
	h.Helper()
	text, err := json.Marshal(s.request(user, tools, stream))
	if err != nil {
		h.Fatal(err)
	}
	path := s.path
	if stream {
		path = s.streamPath
	}
	resp, err := http.Post(h.url+path, "application/json", strings.NewReader(string(text)))
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err != nil
}

// Every protocol plays the whole script, in a stream and without one.
func TestDialects(t *testing.T) {
	for name, s := range speakers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(Handler())
			defer server.Close()
			h := theatre{t, server.URL}
			for _, stream := range []bool{false, true} {
				said := func(want, user string, tools ...string) {
					t.Helper()
					status, body, cut := h.ask(s, user, stream, tools...)
					if status != 200 || cut || !strings.Contains(body, want) {
						t.Errorf("%s, streamed %v: %d, cut %v, no %s in\n%s", user, stream, status, cut, want, body)
					}
					if stream {
						chunks(t, body)
					}
				}
				said("title", "hello")
				said(`\"hello\"`, "hello", "bash")
				said("bash", "RUN: ls", "write", "bash")
				said("mcp__x__echo", "MCP: echo", "bash", "mcp__x__echo")
				said("Which colour?", "ASKUSER", "bash", "ask_user")
				said("Let me think", "THINK", "bash")
				said("There ", "READ: x", "bash")
				if status, body, _ := h.ask(s, "ERR: 429", stream, "bash"); status != 429 || !strings.Contains(body, s.limited) {
					t.Errorf("%d %s", status, body)
				}
				if _, body, cut := h.ask(s, "CUT", stream, "bash"); !cut || !strings.Contains(body, "This ") {
					t.Errorf("cut %v: %s", cut, body)
				}
				once := map[bool]string{false: "ERRONCE: 529", true: "ERRONCE: 500"}[stream]
				if status, _, _ := h.ask(s, once, stream, "bash"); status < 500 {
					t.Errorf("the first %s: %d", once, status)
				}
				said("reply", once, "bash")
			}
			if _, body, _ := h.ask(s, "RUN: ls", true, "bash"); !strings.Contains(body, s.called) {
				t.Errorf("no %s in %s", s.called, body)
			}
			if _, body, _ := h.ask(s, "THINK", true, "bash"); !strings.Contains(body, s.thought) {
				t.Errorf("no %s in %s", s.thought, body)
			}
		})
	}
}

// What only some protocols have: tools that take a text, in a namespace or in an
// item of the input, and answers that fit a schema.
func TestProtocolsOwnWays(t *testing.T) {
	for name, c := range map[string]struct{ path, body, want string }{
		"custom tool": {"/v1/responses", `{"input":[{"role":"user","content":"WRITE: a.txt hi"}],"tools":[{"type":"custom","name":"apply_patch"}]}`,
			`"input":"*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\n"`},
		"program": {"/v1/responses", `{"input":[{"type":"additional_tools","tools":[{"type":"custom","name":"exec"}]},{"role":"user","content":"RUNESC: ls"}]}`,
			`text(await tools.exec_command({cmd: \"ls\", sandbox_permissions: \"require_escalated\"`},
		"another way": {"/v1/responses", `{"input":[{"role":"user","content":"WRITE: a.txt hi"},{"type":"custom_tool_call_output","output":"do it with a shell command instead"}],"tools":[{"type":"custom","name":"exec"}]}`,
			`tools.exec_command({cmd: \"echo 'hi' \u003e a.txt\"})`},
		"exactly": {"/v1/responses", `{"input":"CALL: plan {\"a\":1}","tools":[{"type":"function","name":"plan"}]}`, `"arguments":"{\"a\":1}"`},
		"exactly by a program": {"/v1/responses", `{"input":"CALL: plan {\"a\":1}","tools":[{"type":"custom","name":"exec"}]}`,
			`text(await tools[\"plan\"]({\"a\":1}));`},
		"program for a tool": {"/v1/responses", `{"input":"MCP: echo","tools":[{"type":"custom","name":"exec"}]}`, `n.includes(\"echo\")`},
		"namespace": {"/v1/responses", `{"input":"MCP: echo","tools":[{"type":"namespace","name":"mcp__x","tools":[{"type":"function","name":"echo"}]}]}`,
			`"namespace":"mcp__x"`},
		"result": {"/v1/responses", `{"input":[{"role":"user","content":"RUN: ls"},{"type":"function_call_output","output":"a b"}],"tools":[{"type":"function","name":"shell"}]}`,
			"The tool gave: a b"},
		"schema": {"/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"next?"}]}],"generationConfig":{"responseJsonSchema":
			{"type":"OBJECT","properties":{"who":{"type":"STRING","enum":["user","model"]},"n":{"type":"INTEGER"},"ok":{"type":"boolean"},"l":{"type":"array"},"s":{"type":"string"}}}}}`,
			`{\"l\":[],\"n\":1,\"ok\":false,\"s\":\"scripted\",\"who\":\"model\"}`},
		"function response": {"/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"RUN: ls"}]},{"role":"function","parts":[{"functionResponse":{"response":{"output":"a b"}}}]}],"tools":[{"function_declarations":[{"name":"bash","parameters":{}}]}]}`,
			`a b`},
		"tokens": {"/v1beta/models/m:countTokens", `{"contents":[]}`, `"totalTokens":4`},
	} {
		if status, body := post(t, c.path, c.body); status != 200 || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d, no %s in %s", name, status, c.want, body)
		}
	}
	if status, _ := post(t, "/v1beta/models/m:embedContent", `{}`); status != 404 {
		t.Errorf("an unknown method: %d", status)
	}
}
