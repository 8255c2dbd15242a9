package environment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// MaxText is the longest spec in bytes, 1 MiB.
const MaxText = 1 << 20

var empty = Fault{Message: "the spec is empty; the shortest one is agent: demo"}

// load reads the text's one document. The nodes are as they were written:
// nothing is resolved or expanded, so a small text cannot become a large tree.
func load(text []byte) (*yaml.Node, *Fault) {
	if fault := checkText(text); fault != nil {
		return nil, fault
	}
	loader, err := yaml.NewLoader(bytes.NewReader(fromJSON(text)))
	if err != nil {
		return nil, syntaxFault(err)
	}
	var document yaml.Node
	if err := loader.Load(&document); errors.Is(err, io.EOF) {
		return nil, &empty
	} else if err != nil {
		return nil, syntaxFault(err)
	}
	var second yaml.Node
	if err := loader.Load(&second); err == nil {
		return nil, &Fault{Line: second.Line, Message: "a second document begins here; a spec is one document"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxFault(err)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Value == "" && root.Tag == "!!null" {
		return nil, &empty
	}
	return root, nil
}

// checkText refuses what no reader should see.
func checkText(text []byte) *Fault {
	if len(text) > MaxText {
		return &Fault{Message: fmt.Sprintf("the spec has %d bytes, at most %d are allowed", len(text), MaxText)}
	}
	line := 1
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			return &Fault{Line: line, Message: fmt.Sprintf("byte %#02x is not UTF-8", text[at])}
		case r == '\n':
			line++
		case r < ' ' && r != '\t' && r != '\r' || r == 0x7f:
			return &Fault{Line: line, Message: fmt.Sprintf("the control character %U is not allowed", r)}
		}
		at += size
	}
	return nil
}

// fromJSON makes YAML of a text that is JSON. YAML contains JSON but for one
// thing: a character written as a pair of surrogates, \ud83d\ude00. These are
// replaced by the character; lines stay where they are.
func fromJSON(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u`)) || !json.Valid(text) {
		return text
	}
	out := make([]byte, 0, len(text))
	for at := 0; at < len(text); {
		if text[at] != '\\' {
			out = append(out, text[at])
			at++
			continue
		}
		if r := surrogates(text[at:]); r != utf8.RuneError {
			out = utf8.AppendRune(out, r)
			at += len(`\ud83d\ude00`)
			continue
		}
		out = append(out, text[at], text[at+1]) // in JSON a backslash is never last
		at += 2
	}
	return out
}

// surrogates reads a pair of escapes, utf8.RuneError when there is none.
func surrogates(text []byte) rune {
	if len(text) < len(`\ud83d\ude00`) || text[1] != 'u' || text[6] != '\\' || text[7] != 'u' {
		return utf8.RuneError
	}
	high, err1 := strconv.ParseUint(string(text[2:6]), 16, 32)
	low, err2 := strconv.ParseUint(string(text[8:12]), 16, 32)
	if err1 != nil || err2 != nil {
		return utf8.RuneError
	}
	return utf16.DecodeRune(rune(high), rune(low))
}

// syntaxFault says in our words where the text stops being YAML.
func syntaxFault(err error) *Fault {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return &Fault{Message: "this is not YAML: " + err.Error()}
	}
	fault := &Fault{Line: load.Mark.Line, Column: load.Mark.Column, Message: "this is not YAML: " + load.Message}
	if load.ContextMsg != "" {
		fault.Message += ", " + load.ContextMsg
		if load.ContextMark.Line > 0 && load.ContextMark.Line != fault.Line {
			fault.Message += fmt.Sprintf(" that begins on line %d", load.ContextMark.Line)
		}
	}
	return fault
}
