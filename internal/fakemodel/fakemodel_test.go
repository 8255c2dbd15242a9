package fakemodel

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const bashTool = `{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{"type":"string"}}}}}`

func post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	server := httptest.NewServer(Handler())
	defer server.Close()
	resp, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// chunks gives the data of every event of a stream.
func chunks(t *testing.T, body string) (data []string) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if d != "[DONE]" && !json.Valid([]byte(d)) {
				t.Errorf("event %q", d)
			}
			data = append(data, d)
		}
	}
	return data
}

func TestChat(t *testing.T) {
	for name, c := range map[string]struct {
		messages string
		tools    string
		want     []string
	}{
		"counts":   {`{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"hello"}]}`, bashTool, []string{`reply 2: you said \"hello\"`, `"finish_reason":"stop"`}},
		"calls":    {`{"role":"user","content":"RUN: ls -la"}`, bashTool, []string{`"tool_calls":[{`, `{\"command\":\"ls -la\"}`, `"finish_reason":"tool_calls"`}},
		"result":   {`{"role":"user","content":"RUN: ls"},{"role":"assistant","tool_calls":[]},{"role":"tool","content":"a b"}`, bashTool, []string{"The tool gave: a b"}},
		"no tool":  {`{"role":"user","content":"WRITE: a b"}`, bashTool, []string{"There is no tool for WRITE"}},
		"no tools": {`{"role":"user","content":"RUN: ls"}`, ``, []string{"A scripted title"}},
		"notes":    {`{"role":"user","content":"<context>RUN: x</context>"},{"role":"user","content":"hi <reminder>RUN: y</reminder>"}`, bashTool, []string{`reply 1: you said \"hi\"`}},
	} {
		body := `{"model":"m","messages":[` + c.messages + `],"tools":[` + c.tools + `]`
		_, whole := post(t, "/v1/chat/completions", body+"}")
		_, streamed := post(t, "/chat/completions", body+`,"stream":true}`)
		var text strings.Builder
		data := chunks(t, streamed)
		if len(data) < 3 || data[len(data)-1] != "[DONE]" {
			t.Errorf("%s: %s", name, streamed)
		}
		for _, d := range data {
			var chunk struct {
				Choices []struct{ Delta struct{ Content string } }
			}
			if json.Unmarshal([]byte(d), &chunk) == nil && len(chunk.Choices) == 1 {
				text.WriteString(chunk.Choices[0].Delta.Content)
			}
		}
		said, _ := json.Marshal(text.String())
		for _, want := range c.want {
			if !strings.Contains(whole, want) {
				t.Errorf("%s: no %s in %s", name, want, whole)
			}
			if !strings.Contains(streamed, want) && !strings.Contains(string(said), want) {
				t.Errorf("%s: no %s in %s", name, want, streamed)
			}
		}
	}
}

func TestMessages(t *testing.T) {
	tools := `"tools":[{"name":"Write","input_schema":{"properties":{"file_path":{},"content":{}}}}]`
	first := `{"role":"user","content":[{"type":"text","text":"WRITE: a.txt hello world"}]}`
	_, body := post(t, "/v1/messages", `{"stream":true,"messages":[`+first+`],`+tools+`}`)
	chunks(t, body)
	if !strings.Contains(body, `"stop_reason":"tool_use"`) || !strings.Contains(body, `{\"content\":\"hello world\\n\",\"file_path\":\"a.txt\"}`) {
		t.Error(body)
	}
	_, body = post(t, "/v1/messages", `{"messages":[`+first+`,{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"ok"}]}]}],`+tools+`}`)
	if !strings.Contains(body, "The tool gave: ok") || !strings.Contains(body, `"stop_reason":"end_turn"`) {
		t.Error(body)
	}
}

func TestFailures(t *testing.T) {
	for path, prefix := range map[string]string{"/v1/chat/completions": `"tools":[` + bashTool + `]`, "/v1/messages": `"tools":[{"name":"Bash"}]`} {
		status, body := post(t, path, `{"messages":[{"role":"user","content":"ERR: 429"}],`+prefix+`}`)
		if status != 429 || !strings.Contains(body, "rate_limit") {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if status, _ := post(t, path, "nonsense"); status != 400 {
			t.Errorf("%s: %d", path, status)
		}
	}
}
