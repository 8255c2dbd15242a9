package codex

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

const (
	maxSummary    = 4 << 10  // bytes of a tool's output that its end keeps
	maxToolOutput = 64 << 10 // bytes of a tool's output that are logged while it runs
)

// tool is what is known of one tool call.
type tool struct {
	id     string
	logged int // bytes of output that were logged
	done   bool
	seen   time.Time
}

// fresh bounds the output of a command.
func (t *tool) fresh(text string) string {
	if t.logged >= maxToolOutput {
		return ""
	}
	t.logged += len(text)
	if over := t.logged - maxToolOutput; over >= 0 {
		text = text[:len(text)-over] + "\n(more is not logged; the end of the call has a summary)"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// tail keeps the end of a long text: that is where the result of a command
// stands.
func tail(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxSummary {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-maxSummary:], "")
}

// tool says which tool an item is a call of, in the hook's words; "" for one that
// is none.
func (i *item) tool() (name, kind string, input json.RawMessage) {
	switch i.Type {
	case "commandExecution":
		return "Bash", "execute", object(map[string]any{"command": unwrap(i.Command)})
	case "fileChange":
		var paths []string
		for _, c := range i.Changes {
			paths = append(paths, c.Path)
		}
		return patchTool, "edit", object(map[string]any{"path": cmp.Or(paths...), "paths": paths})
	case "mcpToolCall":
		return "mcp__" + i.Server + "__" + i.Tool, "other", i.Arguments
	case "dynamicToolCall", "collabAgentToolCall":
		return cmp.Or(i.Tool, i.Type), "other", i.Arguments
	case "webSearch":
		return "web_search", "fetch", nil
	case "imageView", "imageGeneration":
		return i.Type, "other", nil
	}
	return "", "", nil
}

func object(m map[string]any) json.RawMessage {
	b, _ := json.Marshal(m) // texts always encode
	return b
}

// ok says whether a call did what it was to do.
func (i *item) ok() bool {
	return i.Status == "completed" && (i.ExitCode == nil || *i.ExitCode == 0)
}

// summary is what a call gave.
func (i *item) summary() string {
	if i.Type == "fileChange" {
		var parts []string
		for _, c := range i.Changes {
			parts = append(parts, c.Kind.Type+" "+c.Path+"\n"+c.Diff)
		}
		return strings.Join(parts, "\n")
	}
	var failure struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(i.Failure, &failure) == nil && failure.Message != "" {
		return failure.Message
	}
	var result toolResult
	if json.Unmarshal(i.Result, &result) == nil && len(result.Content) > 0 {
		var texts []string
		for _, c := range result.Content {
			texts = append(texts, c.Text)
		}
		return strings.Join(texts, "\n")
	}
	return i.Output
}

// unwrap gives the command that Codex has a shell run: bash -lc 'COMMAND'.
func unwrap(command string) string {
	shell, rest, _ := strings.Cut(command, " ")
	if !strings.HasSuffix(shell, "sh") {
		return command
	}
	flag, quoted, _ := strings.Cut(rest, " ")
	if flag != "-lc" && flag != "-c" {
		return command
	}
	words, ok := shellWords(quoted)
	if !ok || len(words) != 1 {
		return command
	}
	return words[0]
}

// shellWords splits a line as a shell does that knows only quotes; false when
// they do not end.
func shellWords(line string) (words []string, ok bool) {
	var word strings.Builder
	open := false // a word has begun
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			word.WriteString(line[i+1 : i+1+end])
			i, open = i+1+end, true
		case '"':
			i++
			for ; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				word.WriteByte(line[i])
			}
			if i >= len(line) {
				return nil, false
			}
			open = true
		case '\\':
			if i+1 >= len(line) {
				return nil, false
			}
			i++
			word.WriteByte(line[i])
			open = true
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words, true
}
