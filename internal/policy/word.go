package policy

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command as far as it is known before the command runs.
type word struct {
	text  text
	split bool         // its gaps may become several words, or none
	src   *syntax.Word // where it was written
}

func (w word) is(s string) bool { return string(w.text) == s }

func join(words []word) (t text) {
	for i, w := range words {
		if i > 0 {
			t = append(t, ' ')
		}
		t = append(t, w.text...)
	}
	return t
}

func known(words []word) bool {
	for _, w := range words {
		if !w.text.known() {
			return false
		}
	}
	return true
}

// maxBraces is how many words {a,b} may make of one.
const maxBraces = 64

// words reads the words of a command. bash makes several of one with braces.
func (a *analysis) words(list []*syntax.Word) (words []word) {
	for _, w := range list {
		w := &syntax.Word{Parts: slices.Clone(w.Parts)} // is changed below
		if a.lang != syntax.LangBash || !syntax.SplitBraces(w) {
			words = append(words, a.word(w))
			continue
		}
		n := len(words)
		for part, err := range expand.BracesSeq(nil, w) {
			if err != nil || len(words)-n >= maxBraces {
				words = append(words[:n], word{text: text{gap}, split: true})
				break
			}
			words = append(words, a.word(part))
		}
	}
	return words
}

func (a *analysis) word(w *syntax.Word) (out word) {
	out.src = w
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if unquoted(part.Value, w, &out) {
				return out
			}
		case *syntax.SglQuoted:
			if part.Dollar && a.lang == syntax.LangBash && strings.Contains(part.Value, `\`) {
				out.text = append(out.text, gap) // escapes
				continue
			}
			out.text = append(out.text, text(part.Value)...)
		case *syntax.DblQuoted:
			a.quoted(part, &out)
		default:
			out.text, out.split = append(out.text, gap), true
		}
	}
	return out
}

// element is an assignment to an element of an array; to a plain shell, a
// program whose name has a = in it.
var element = regexp.MustCompile(`^[A-Za-z_]\w*\[[\w-]+\]\+?=[^\[]*$`)

// unquoted reads a literal outside of quotes. It says whether what follows in
// the word is no longer known: the rest of a pattern for names of files.
func unquoted(value string, w *syntax.Word, out *word) (done bool) {
	runes := []rune(value)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\\' && i+1 < len(runes):
			i++
			if runes[i] != '\n' {
				out.text = append(out.text, runes[i])
			}
		case r == '[' && !(len(w.Parts) == 1 && (value == "[" || value == "[[" || element.MatchString(value))):
			out.text, out.split = append(out.text, gap), true
			return true
		case r == '*' || r == '?':
			out.text, out.split = append(out.text, gap), true
		default:
			out.text = append(out.text, r)
		}
	}
	return false
}

func (a *analysis) quoted(q *syntax.DblQuoted, out *word) {
	if q.Dollar && a.lang != syntax.LangBash {
		out.text = append(out.text, '$')
	}
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			out.text = append(out.text, gap)
			if e, ok := part.(*syntax.ParamExp); ok && (e.Param != nil && e.Param.Value == "@" || e.Index != nil) {
				out.split = true // "$@", "${list[@]}"
			}
			continue
		}
		runes := []rune(lit.Value)
		for i := 0; i < len(runes); i++ {
			if runes[i] == '\\' && i+1 < len(runes) && strings.ContainsRune("$`\"\\\n", runes[i+1]) {
				if i++; runes[i] == '\n' {
					continue
				}
			}
			out.text = append(out.text, runes[i])
		}
	}
}

// assignment reads NAME=VALUE.
func (a *analysis) assignment(s *syntax.Assign) (w word) {
	if s.Name != nil {
		w.text = text(s.Name.Value)
	}
	switch {
	case s.Naked && s.Value != nil: // an argument of a declaration
		v := a.word(s.Value)
		return word{text: append(w.text, v.text...), split: v.split}
	case s.Naked:
		return w
	case s.Append:
		w.text = append(w.text, '+')
	}
	w.text = append(w.text, '=')
	switch {
	case s.Array != nil || s.Index != nil:
		w.text = append(w.text, gap)
	case s.Value != nil:
		w.text = append(w.text, a.word(s.Value).text...)
	}
	return w
}

// heredoc gives the text of a here-document or here-string that a command reads,
// if it is known.
func (a *analysis) heredoc(redirects []*syntax.Redirect, descriptor string) (script string, ok bool) {
	for _, r := range redirects {
		switch {
		case r.N != nil && r.N.Value != descriptor || r.N == nil && descriptor != "0":
		case r.Op == syntax.WordHdoc:
			w := a.word(r.Word)
			script, ok = string(w.text)+"\n", w.text.known()
		case r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc:
			script, ok = body(r)
		case r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut || r.Op == syntax.DplIn:
			ok = false
		}
	}
	return script, ok
}

func body(r *syntax.Redirect) (string, bool) {
	if r.Hdoc == nil {
		return "", true
	}
	plain := len(r.Word.Parts) == 1
	if plain {
		_, plain = r.Word.Parts[0].(*syntax.Lit)
	}
	var b strings.Builder
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || plain && strings.Contains(lit.Value, `\`) {
			return "", false
		}
		b.WriteString(lit.Value)
	}
	return b.String(), true
}
