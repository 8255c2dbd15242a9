package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"paddock/internal/plain"
)

// format is how results are printed.
type format string

const (
	textFormat format = "text"
	wideFormat format = "wide" // text with more columns, where a command has more
	jsonFormat format = "json"
)

// String, Set and Type make format a flag.
func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "format" }
func (f *format) Set(s string) error {
	switch format(s) {
	case textFormat, wideFormat, jsonFormat:
		*f = format(s)
		return nil
	}
	return fmt.Errorf("want text, wide or json")
}

// json says whether results are for a program.
func (a *app) json() bool { return a.output == jsonFormat }

// result prints v as one JSON document, or calls text. What text writes cannot
// control the terminal.
func (a *app) result(v any, text func(w io.Writer)) error {
	if a.json() {
		return a.encode(v, "  ")
	}
	text(plain.Writer(a.out))
	return nil
}

// line prints v as one line of JSON, an item of a stream.
func (a *app) line(v any) error { return a.encode(v, "") }

func (a *app) encode(v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	_, err := a.out.Write(plain.JSON(b.Bytes()))
	return err
}

// table prints aligned columns, two spaces apart; the last is not padded.
func table(w io.Writer, header []string, rows [][]string) {
	widths := make([]int, len(header))
	all := append([][]string{header}, rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range all {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// fields prints names and values, one a line; empty values are left out.
func fields(w io.Writer, pairs ...[2]string) {
	width := 0
	for _, p := range pairs {
		if p[1] != "" {
			width = max(width, len(p[0]))
		}
	}
	for _, p := range pairs {
		if p[1] != "" {
			fmt.Fprintf(w, "%-*s  %s\n", width, p[0], p[1])
		}
	}
}

// oneLine makes a text fit into a line of at most n characters.
func oneLine(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
