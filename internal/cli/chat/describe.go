package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"paddock/internal/plain"
)

// describe gives a tool's input in one line and in full.
func describe(input json.RawMessage) (gist, full string) {
	var in struct {
		Command any    `json:"command"`
		Path    string `json:"path"`
	}
	_ = json.Unmarshal(input, &in)
	switch command := in.Command.(type) {
	case string:
		gist, full = command, command
	case []any:
		var words []string
		for _, w := range command {
			text, ok := w.(string)
			if !ok {
				b, _ := json.Marshal(w)
				text = string(b)
			}
			words = append(words, text)
		}
		gist = strings.Join(words, " ")
		full = gist
	}
	if gist == "" {
		gist = in.Path
	}
	if text := string(bytes.TrimSpace(input)); full == "" && text != "" && text != "null" && text != "{}" {
		var pretty bytes.Buffer
		if full = text; json.Indent(&pretty, input, "", "  ") == nil {
			full = pretty.String()
		}
		if gist == "" {
			gist = text
		}
	}
	return oneLine(plain.Exact(gist)), plain.Exact(full)
}

// oneLine makes one line of a text without hiding any of it.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ⏎ ") }
