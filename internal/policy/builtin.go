package policy

import (
	"slices"
	"strings"
)

// declarations are the builtins whose words declare variables.
var declarations = []string{"declare", "typeset", "local", "export", "readonly"}

// evaluators are bash's builtins that evaluate the names in their words; each
// says which of its words these are, where it cannot be seen from them. An
// option whose letter is in valued has a value, which is none.
var evaluators = map[string]struct {
	behind string // only the word behind this option
	valued string
	gives  bool // something unknown to the variables of these names
}{
	"test": {behind: "-v"}, "[": {behind: "-v"}, "printf": {behind: "-v", gives: true}, "wait": {behind: "-p"},
	"read": {valued: "dinNptu", gives: true}, "mapfile": {valued: "dnOsuCc", gives: true}, "readarray": {valued: "dnOsuCc", gives: true},
	"unset": {}, "let": {}, "getopts": {},
	"declare": {}, "typeset": {}, "local": {}, "export": {}, "readonly": {},
}

// builtin notes what a builtin of bash evaluates and gives, and the variables that
// a command is told in its words.
func (a *analysis) builtin(name string, args []word) {
	for _, w := range args {
		if !forms[name].variables && !slices.Contains(declarations, name) && !slices.Contains(runners, name) {
			break // its words are no assignments
		}
		if variable, value, set := strings.Cut(string(w.text), "="); set && wholeName.MatchString(strings.TrimSuffix(variable, "+")) {
			v := word{text: text(value)}
			if !w.text.known() {
				v = unread
			}
			a.note(variable, v)
		}
	}
	e, ok := evaluators[name]
	if !ok {
		return
	}
	if slices.Contains(declarations, name) {
		a.setsAll(args, true)
		a.declared(args)
	}
	for i, w := range args {
		if w.split && w.src != nil && e.behind != "" {
			a.unquoted = append(a.unquoted, w.src) // may become -v and a name
		}
		s := string(w.text)
		if w.text.known() && strings.Contains(s, "[") && strings.ContainsAny(s, "$`") || w.text.known() && strings.Contains(s, "=(") && strings.ContainsAny(s, "$`") && slices.Contains(declarations, name) {
			a.evaluates(word{text: w.text}) // wherever it stands
			continue
		}
		before := ""
		if i > 0 {
			before = string(args[i-1].text)
		}
		switch {
		case e.behind != "" && before != e.behind && !(i == 0 && strings.HasPrefix(s, e.behind)):
			continue
		case strings.HasPrefix(s, "-") && !strings.HasPrefix(s, e.behind+"x"):
			if e.behind == "" || !strings.HasPrefix(s, e.behind) || s == e.behind {
				continue
			}
			w = word{text: text(s[len(e.behind):])}
		case e.valued != "" && strings.HasPrefix(before, "-") && strings.ContainsAny(before[len(before)-1:], e.valued):
			continue
		case slices.Contains(declarations, name):
			variable, value, set := cutText(w.text)
			if named := text(variable); !set || wholeName.MatchString(strings.TrimSuffix(string(named), "+")) {
				if len(value) > 0 && value[0] == '(' && !value.known() {
					a.evaluates(w)
				}
				continue
			}
		}
		if name == "let" || !w.text.known() || strings.Contains(string(w.text), "[") {
			a.evaluates(w) // of a plain name nothing is
		}
		if variable := string(w.text); e.gives && wholeName.MatchString(variable) {
			a.give(variable, unread)
		} else if e.gives && !w.text.known() {
			a.anyName = true
		}
		if name == "unset" && (effectOf(string(w.text)).kind == harms || !w.text.known() && w.src == nil) {
			a.unknown("it unsets a variable that decides what runs")
		}
	}
}

// declared looks at the words of a declaration: its options, and the names whose
// values they make bash evaluate.
func (a *analysis) declared(args []word) {
	evaluated, reference := false, false
	for _, w := range args {
		s := string(w.text)
		switch {
		case !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "+"):
		default:
			evaluated = evaluated || strings.ContainsAny(s, "in")
			reference = reference || strings.Contains(s, "n")
			a.keyed = a.keyed || strings.Contains(s, "A")
		}
	}
	for _, w := range args {
		s := string(w.text)
		name, value, set := strings.Cut(s, "=")
		known := text(name).known() && (set || w.text.known())
		switch {
		case strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+"):
		case !known:
			a.unknown("what it declares is known only when it runs")
		case !evaluated:
		case known:
			a.use(strings.TrimSuffix(name, "+"))
			if reference && set && !(wholeName.MatchString(value) && effectOf(value).kind == 0) {
				a.unknown("a name stands for another that is known only when it runs")
			}
		}
	}
}
