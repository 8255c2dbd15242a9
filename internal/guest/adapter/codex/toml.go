package codex

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The few forms of TOML that we write.

// quoted writes a basic string.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// array writes an array of strings.
func array(list []string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = quoted(s)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// table writes an inline table of strings.
func table(m map[string]string) string {
	var entries []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		entries = append(entries, quoted(key)+" = "+quoted(m[key]))
	}
	return "{ " + strings.Join(entries, ", ") + " }"
}
