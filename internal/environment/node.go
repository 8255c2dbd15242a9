package environment

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// reader collects what is wrong while the nodes are read.
type reader struct {
	faults   []Fault
	warnings []Warning
}

// value is the value of a key. key is nil for the text's root.
type value struct {
	path string
	key  *yaml.Node
	node *yaml.Node
}

// place is the node whose line a fault of the value names: an empty value
// stands wherever the next thing begins, so its key is meant.
func (v value) place() *yaml.Node {
	if v.key != nil && v.node.Value == "" && v.node.Tag == "!!null" {
		return v.key
	}
	return v.node
}

func (r *reader) fault(at *yaml.Node, path, format string, args ...any) {
	r.faults = append(r.faults, Fault{Line: at.Line, Column: at.Column, Path: path, Message: fmt.Sprintf(format, args...)})
}

// wants reports a value of the wrong kind.
func (r *reader) wants(v value, format string, args ...any) {
	if v.node.Kind == yaml.AliasNode {
		return // reported as such
	}
	r.fault(v.place(), v.path, "wants "+format, args...)
}

// structure reports, anywhere in the text, what YAML allows and a spec does not.
func (r *reader) structure(n *yaml.Node, path string) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.fault(n, path, "aliases (*%s) are not supported; write the value out", n.Value)
		return // what it refers to is read where it stands
	case n.Anchor != "":
		r.fault(n, path, "anchors (&%s) are not supported; write the value out where it is needed", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.fault(n, path, "tags (%s) are not supported", n.Tag)
	}
	if n.Kind != yaml.MappingNode {
		for _, item := range n.Content {
			r.structure(item, path)
		}
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			r.fault(key, path, "a key must be a plain word")
			continue
		}
		here := join(path, key.Value)
		if key.Tag == "!!merge" {
			r.fault(key, here, "merging is not supported; write the keys out")
		} else if line, twice := first[key.Value]; twice {
			r.fault(key, here, "is already set on line %d", line)
		} else {
			first[key.Value] = key.Line
		}
		if key.Anchor != "" {
			r.fault(key, here, "anchors (&%s) are not supported", key.Anchor)
		}
		r.structure(n.Content[i+1], here)
	}
}

// mapping calls each for the keys of a mapping, the first time of each.
func (r *reader) mapping(v value, example string, each func(value)) {
	if v.node.Kind != yaml.MappingNode {
		r.wants(v, "keys and values such as %s", example)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || seen[key.Value] {
			continue // reported by structure
		}
		seen[key.Value] = true
		each(value{path: join(v.path, key.Value), key: key, node: v.node.Content[i+1]})
	}
}

// text reads a text. What looks like a number or a truth value is the text that
// was written: 012 stays 012.
func (r *reader) text(v value, example string) (string, bool) {
	if v.node.Kind != yaml.ScalarNode || v.node.Tag == "!!null" {
		r.wants(v, "%s", example)
		return "", false
	}
	if strings.ContainsRune(v.node.Value, 0) {
		r.fault(v.node, v.path, "must not contain a NUL character")
		return "", false
	}
	return v.node.Value, true
}

// choice reads one of some words.
func (r *reader) choice(v value, choices []string) (string, bool) {
	list := strings.Join(choices, ", ")
	word, ok := r.text(v, "one of "+list)
	if !ok {
		return "", false
	}
	for _, c := range choices {
		if word == c {
			return word, true
		}
	}
	r.fault(v.node, v.path, "%q is none of %s%s", clip(word), list, suggest(word, choices))
	return "", false
}

// truth reads true or false.
func (r *reader) truth(v value) bool {
	if v.node.Kind == yaml.ScalarNode && v.node.Tag == "!!bool" {
		return strings.EqualFold(v.node.Value, "true")
	}
	r.wants(v, "true or false")
	return false
}

// duration reads a duration such as 15m or 1h30m within bounds.
func (r *reader) duration(v value, least, most time.Duration) time.Duration {
	const wants = "a duration such as 15m or 1h30m"
	word, ok := r.text(v, wants)
	if !ok {
		return 0
	}
	if v.node.Tag == "!!int" || v.node.Tag == "!!float" {
		r.fault(v.node, v.path, "wants "+wants+"; %s alone has no unit", clip(word))
		return 0
	}
	d, err := time.ParseDuration(word)
	switch {
	case err != nil:
		r.fault(v.node, v.path, "wants "+wants+", not %q", clip(word))
	case d < least || d > most:
		r.fault(v.node, v.path, "%s is out of range; it may be %s to %s", clip(word), short(least), short(most))
	}
	return d
}

// texts reads a list of texts.
func (r *reader) texts(v value, example string) (list []string) {
	if v.node.Kind != yaml.SequenceNode {
		r.wants(v, "a list such as %s", example)
		return nil
	}
	for i, item := range v.node.Content {
		if text, ok := r.text(value{path: fmt.Sprintf("%s[%d]", v.path, i), node: item}, "a text"); ok {
			list = append(list, text)
		}
	}
	return list
}

func join(path, key string) string {
	if path == "" {
		return clip(key)
	}
	return path + "." + clip(key)
}

// short writes a duration as a person would: 24h, not 24h0m0s.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// clip keeps what a stranger wrote from filling a message.
func clip(text string) string {
	const most = 64
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
