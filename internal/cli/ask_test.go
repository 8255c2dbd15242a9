package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"paddock/client"
)

// TestPersonIsAsked plays a person at a terminal who answers what prompt asks.
func TestPersonIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		say, question, type_ string
		code                 int
		want                 client.AnswerRequest
	}{
		"approve":  {"ask", "efer? ", "a\n", exitOK, client.AnswerRequest{Outcome: client.OutcomeApprove}},
		"session":  {"ask", "efer? ", "s\n", exitOK, client.AnswerRequest{Outcome: client.OutcomeApprove, ForSession: true}},
		"nonsense": {"ask", "efer? ", "what\ny\n", exitOK, client.AnswerRequest{Outcome: client.OutcomeApprove}},
		"reject":   {"ask", "efer? ", "r too dear\n", exitOK, client.AnswerRequest{Outcome: client.OutcomeReject, Reason: "too dear"}},
		"defer":    {"ask", "efer? ", "d\n", exitConflict, client.AnswerRequest{Outcome: client.OutcomeDefer}},
		"answer":   {"question", "answer: ", "blue\n", exitOK, client.AnswerRequest{Outcome: client.OutcomeApprove, Content: map[string]any{"answer": "blue"}}},
	} {
		t.Run(name, func(t *testing.T) {
			api := newPlayedAPI()
			server := httptest.NewServer(api)
			defer server.Close()
			t.Setenv("PADDOCK_URL", server.URL)
			t.Setenv("PADDOCK_TOKEN", "secret")

			person, terminal, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer person.Close()
			code := make(chan int, 1)
			go func() {
				defer terminal.Close()
				code <- Main(context.Background(), []string{"prompt", "hello", c.say}, terminal, terminal, terminal, Hooks{})
			}()
			readUntil(t, person, c.question)
			if _, err := person.WriteString(c.type_); err != nil {
				t.Fatal(err)
			}
			drain(person)
			if got := <-code; got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			api.mu.Lock()
			defer api.mu.Unlock()
			if diff := cmp.Diff(c.want, api.answers[hid(3)]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// readUntil reads the terminal until text shows.
func readUntil(t *testing.T, f *os.File, text string) {
	t.Helper()
	in := bufio.NewReader(f)
	var seen strings.Builder
	for !strings.HasSuffix(seen.String(), text) {
		b, err := in.ReadByte()
		if err != nil {
			t.Fatalf("saw %q: %v", seen.String(), err)
		}
		seen.WriteByte(b)
	}
}

// drain reads the rest of what the terminal shows; it ends when the other side
// is closed.
func drain(f *os.File) {
	buf := make([]byte, 4096)
	for {
		if _, err := f.Read(buf); err != nil {
			return
		}
	}
}

func TestFormContent(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"colour":{"type":"string"},"count":{"type":"integer"},"sure":{"type":"boolean"}}}`)
	for name, c := range map[string]struct {
		schema  json.RawMessage
		answers []string
		want    map[string]any // nil: refused
	}{
		"no form":                {nil, []string{"blue"}, map[string]any{"answer": "blue"}},
		"no form, with =":        {nil, []string{"a=b"}, map[string]any{"answer": "a=b"}},
		"typed":                  {schema, []string{"colour=1", "count=2", "sure=true"}, map[string]any{"colour": "1", "count": 2.0, "sure": true}},
		"wrong type":             {schema, []string{"count=many"}, nil},
		"no such field":          {schema, []string{"size=3"}, nil},
		"one field, bare":        {json.RawMessage(`{"properties":{"n":{"type":"number"}}}`), []string{"1.5"}, map[string]any{"n": 1.5}},
		"a form that is no form": {json.RawMessage(`[]`), []string{"x"}, map[string]any{"answer": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readForm(client.ApprovalDetails{Schema: c.schema}).content(c.answers)
			if (err != nil) != (c.want == nil) {
				t.Fatalf("%v, %v", got, err)
			}
			if diff := cmp.Diff(c.want, got); c.want != nil && diff != "" {
				t.Error(diff)
			}
		})
	}
}
