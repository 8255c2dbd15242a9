package policy

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// evaluation collects what bash evaluates once more after it has expanded it:
// what it reckons with, names with a subscript, prompts. A subscript in such a
// text may hold $(…), and a name there stands for the text that a variable has.
// What the script itself gives a variable counts, wherever it stands; one that
// it never sets has what the session's owner or bash gives it.
type evaluation struct {
	values    map[string][]word // what variables are given
	functions map[string]bool
	calls     map[string][]word // the arguments of each command, for those that are functions
	used      []string          // variables whose text is evaluated
	pending   []word
	composed  bool // a name is put together from parts
	anyName   bool // something unknown is given to a variable of unknown name
	keyed     bool // some array may have texts for keys
	notes     int
	unquoted  []*syntax.Word // may become an option and a name that is evaluated
}

// opaque are variables to which bash gives texts that may come from the script.
var opaque = strings.Fields(`_ REPLY MAPFILE OPTARG BASH_REMATCH BASH_COMMAND BASH_EXECUTION_STRING BASH_ARGV BASH_ARGV0 BASH_SOURCE
	FUNCNAME BASH_ALIASES BASH_CMDS DIRSTACK PWD OLDPWD READLINE_LINE COPROC`)

// numbers are variables of bash whose values are evaluated when they are given.
var numbers = strings.Fields("BASHPID EPOCHSECONDS EUID HISTCMD LINENO OPTIND PPID RANDOM SECONDS SRANDOM UID")

const positional = "@" // stands for all of $1, $2, …

var (
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	wholeName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	toVariable = regexp.MustCompile(`^\{[A-Za-z_]\w*\[`) // {a[0]}>file
	unread     = word{text: text{gap}, split: true}
)

// give notes that a variable is given a value.
func (a *analysis) give(name string, value word) {
	a.note(name, value)
	if t := value.text; effectOf(name).kind != 0 {
		if value.src != nil {
			t = a.word(value.src).text
		}
		a.sets(name, t, true)
	}
}

// note is give for what has been looked at, or may be no assignment.
func (a *analysis) note(name string, value word) {
	if a.notes++; a.notes > maxEvaluated {
		a.anyName = true
		return
	}
	name = strings.TrimSuffix(name, "+")
	if slices.Contains(numbers, name) {
		a.evaluates(value)
	}
	a.values[name] = append(a.values[name], value)
}

// evaluates notes that bash evaluates a word.
func (a *analysis) evaluates(w word) {
	if a.lang == syntax.LangBash {
		a.pending = append(a.pending, w)
	}
}

func (a *analysis) evaluatesPart(w *syntax.Word) {
	if w != nil {
		a.evaluates(word{src: w})
	}
}

// reckons notes an arithmetic expression.
func (a *analysis) reckons(e syntax.ArithmExpr) {
	switch e := e.(type) {
	case *syntax.BinaryArithm:
		a.reckons(e.X)
		a.reckons(e.Y)
	case *syntax.UnaryArithm:
		a.reckons(e.X)
	case *syntax.ParenArithm:
		a.reckons(e.X)
	case *syntax.Word:
		a.evaluatesPart(e)
	}
}

// noted notes what a node of bash's syntax gives or evaluates.
func (a *analysis) noted(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		a.reckons(n.Index)
		a.assigned(n)
	case *syntax.ArrayElem:
		a.reckons(n.Index)
	case *syntax.Redirect:
		if n.Op == syntax.DplOut || n.Op == syntax.DplIn {
			a.evaluatesPart(n.Word) // bash expands what no number is twice
		}
	case *syntax.CallExpr:
		for _, w := range n.Args {
			if lit, ok := w.Parts[0].(*syntax.Lit); ok && toVariable.MatchString(lit.Value) {
				a.evaluatesPart(w)
			}
		}
	case *syntax.ForClause:
		switch loop := n.Loop.(type) {
		case *syntax.WordIter:
			for _, w := range loop.Items {
				a.give(loop.Name.Value, word{src: w})
			}
			if !loop.InPos.IsValid() {
				a.give(loop.Name.Value, word{src: &syntax.Word{Parts: []syntax.WordPart{&syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: positional}}}}})
			}
		case *syntax.CStyleLoop:
			a.reckons(loop.Init)
			a.reckons(loop.Cond)
			a.reckons(loop.Post)
		}
	case *syntax.ArithmExp:
		a.reckons(n.X)
	case *syntax.ArithmCmd:
		a.reckons(n.X)
	case *syntax.LetClause:
		for _, e := range n.Exprs {
			a.reckons(e)
		}
	case *syntax.ParamExp:
		a.expanded(n)
	case *syntax.FuncDecl:
		if n.Name != nil {
			a.functions[n.Name.Value] = true
		}
	case *syntax.UnaryTest:
		if w, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) {
			a.evaluatesPart(w)
		}
	case *syntax.BinaryTest:
		if slices.Contains([]syntax.BinTestOperator{syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr}, n.Op) {
			for _, side := range []syntax.TestExpr{n.X, n.Y} {
				if w, ok := side.(*syntax.Word); ok {
					a.evaluatesPart(w)
				}
			}
		}
	}
}

func (a *analysis) assigned(n *syntax.Assign) {
	switch {
	case n.Name == nil:
	case n.Array != nil:
		for _, e := range n.Array.Elems {
			if e.Value != nil {
				a.note(n.Name.Value, word{src: e.Value})
			}
		}
	case n.Value != nil && !n.Naked:
		a.note(n.Name.Value, word{src: n.Value})
		a.composed = a.composed || n.Append && n.Index == nil && !numeric(n.Value)
	}
}

// numeric says whether a word is a number as it stands.
func numeric(w *syntax.Word) bool {
	return strings.Trim(w.Lit(), "0123456789") == "" && w.Lit() != "" || len(w.Parts) == 1 && isArithmetic(w.Parts[0])
}

func isArithmetic(part syntax.WordPart) bool {
	_, ok := part.(*syntax.ArithmExp)
	return ok
}

// expanded notes what an expansion gives or evaluates besides what it yields.
func (a *analysis) expanded(p *syntax.ParamExp) {
	if !all(p.Index) {
		a.reckons(p.Index)
	}
	if p.Slice != nil {
		a.reckons(p.Slice.Offset)
		a.reckons(p.Slice.Length)
	}
	if p.Param == nil {
		return
	}
	name := p.Param.Value
	if p.Excl && p.Names == 0 && !all(p.Index) {
		a.use(name)
	}
	if p.Exp == nil {
		return
	}
	switch {
	case p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull:
		if p.Exp.Word != nil {
			a.give(name, word{src: p.Exp.Word})
		}
	case p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil && strings.Contains(p.Exp.Word.Lit(), "P"):
		a.use(name)
	}
}

// all says whether a subscript means the whole array.
func all(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// use notes that the text of a variable is evaluated.
func (a *analysis) use(name string) {
	if strings.Trim(name, "0123456789") == "" || name == "*" {
		name = positional
	}
	if !slices.Contains(a.used, name) {
		a.used = append(a.used, name)
	}
}

// maxEvaluated is how many texts are looked at.
const maxEvaluated = 2000

// evaluate looks at all that is evaluated, and at the texts of the variables in it.
func (a *analysis) evaluate() {
	a.lang = syntax.LangBash
	for name := range a.functions {
		for _, w := range a.calls[name] {
			a.give(positional, w)
		}
	}
	for _, w := range a.unquoted {
		a.parts(w)
	}
	names := 0
	for n := 0; ; n++ {
		switch {
		case n > maxEvaluated:
			a.unsure()
			return
		case len(a.pending) > 0:
			w := a.pending[len(a.pending)-1]
			a.pending = a.pending[:len(a.pending)-1]
			a.look(w, false)
		case names < len(a.used):
			name := a.used[names]
			names++
			if a.anyName || slices.Contains(opaque, name) {
				a.unsure()
			}
			for _, w := range a.values[name] {
				a.look(w, true)
			}
		case a.composed && len(a.used) > 0:
			a.composed = false // may be any variable
			for name := range a.values {
				a.use(name)
			}
		default:
			return
		}
	}
}

// parts looks for a subscript with a substitution in what a variable, unquoted,
// becomes several words of.
func (a *analysis) parts(w *syntax.Word) {
	for _, part := range w.Parts {
		p, ok := part.(*syntax.ParamExp)
		if !ok || p.Param == nil {
			continue
		}
		for _, value := range a.values[p.Param.Value] {
			t := value.text
			if value.src != nil {
				t = a.word(value.src).text
			}
			if s := string(t); strings.Contains(s, "[") && strings.ContainsAny(s, "$`") {
				a.unsure()
			}
		}
	}
}

func (a *analysis) unsure() { a.unknown("bash may run what stands in a text that it evaluates") }

// look goes through one evaluated text: of a variable when it is a value.
func (a *analysis) look(w word, value bool) {
	t := w.text
	if w.src != nil {
		t = a.pieces(w.src.Parts, false)
	}
	if !t.known() {
		for _, r := range t {
			if r == '$' || r == '`' {
				a.unsure()
				return
			}
		}
		if w.src == nil {
			a.unsure()
			return
		}
		a.names(t)
		return
	}
	s := string(t)
	if !strings.ContainsAny(s, "$`") {
		a.names(t)
		return
	}
	if value {
		a.unsure()
	}
	a.twice(s)
}

// twice reads a text that bash expands once more.
func (a *analysis) twice(s string) {
	a.depth++
	defer func() {
		a.depth--
		if recover() != nil {
			a.unsure()
		}
	}()
	document, err := syntax.NewParser(syntax.Variant(a.lang)).Document(strings.NewReader(s))
	if err != nil || document == nil || a.depth > maxDepth {
		a.unsure()
		return
	}
	syntax.Walk(document, a.visit)
	a.names(a.pieces(document.Parts, true))
}

// names uses the variables that a text names. A name that borders on a gap may
// be any.
func (a *analysis) names(t text) {
	s := strings.ReplaceAll(t.String(), "…", "\x00")
	a.composed = a.composed || strings.ContainsAny(s, "{}") || strings.Contains(s, "\x00\x00")
	for _, at := range identifier.FindAllStringIndex(s, -1) {
		if at[0] > 0 && (s[at[0]-1] >= '0' && s[at[0]-1] <= '9' || s[at[0]-1] == '#') {
			continue // 0x1f, 16#ff
		}
		if at[1] < len(s) && s[at[1]] == 0 || at[0] > 0 && s[at[0]-1] == 0 {
			a.composed = true
		}
		a.use(s[at[0]:at[1]])
	}
}

// pieces is the text that parts of a word yield, with gaps for what variables
// yield, which is used.
func (a *analysis) pieces(parts []syntax.WordPart, quoted bool) (t text) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			t = append(t, plain(part.Value, quoted)...)
		case *syntax.SglQuoted:
			if part.Dollar && strings.Contains(part.Value, `\`) {
				a.unsure()
				t = append(t, gap)
			}
			t = append(t, text(part.Value)...)
		case *syntax.DblQuoted:
			t = append(t, a.pieces(part.Parts, true)...)
		case *syntax.ArithmExp:
			t = append(t, '0')
		case *syntax.ParamExp:
			t = append(t, a.yields(part)...)
		case *syntax.CmdSubst:
			if !a.counts(part) {
				a.unsure()
			}
			t = append(t, '0')
		default:
			a.unsure()
		}
	}
	return t
}

// plain is a literal without its escapes; patterns may become names of files.
func plain(value string, quoted bool) (t text) {
	runes := []rune(value)
	for i := 0; i < len(runes); i++ {
		if runes[i] == '\\' && i+1 < len(runes) && (!quoted || strings.ContainsRune("$`\"\\", runes[i+1])) {
			i++
		} else if !quoted && (runes[i] == '*' || runes[i] == '?') {
			t = append(t, '$') // as bad as any text
		}
		t = append(t, runes[i])
	}
	return t
}

// yields is what an expansion yields: a number, or a gap whose variable is used.
func (a *analysis) yields(p *syntax.ParamExp) text {
	switch {
	case p.Param == nil || p.NestedParam != nil:
		a.unsure()
	case p.Length || p.Param.Value == "#" || p.Param.Value == "?" || p.Param.Value == "$" || p.Param.Value == "!":
		return text("0")
	case p.Excl && all(p.Index):
		if a.keyed {
			a.unsure()
		}
		return text("0")
	case p.Excl:
		a.unsure()
	}
	if p.Param != nil {
		a.use(p.Param.Value)
	}
	switch {
	case p.Repl != nil:
		a.composed = true
		a.evaluatesPart(p.Repl.With)
	case p.Exp != nil:
		a.evaluatesPart(p.Exp.Word)
		a.composed = a.composed || p.Exp.Op > syntax.AssignUnsetOrNull
	case p.Slice != nil:
		a.composed = true
	}
	return text{gap}
}

// counters are the commands that print numbers and nothing else, with what
// their arguments have to be.
var counters = map[string]*regexp.Regexp{
	"wc": regexp.MustCompile(`^( -[lwcm]+)+$`), "nproc": regexp.MustCompile(`^( --all)?$`), "date": regexp.MustCompile(`^( -u)? \+(%[sNYmdHMSj])+$`),
	"id": regexp.MustCompile(`^ -[ug]$`), "grep": regexp.MustCompile(`^( -[EFivwPxh]+)* -[EFivwPxh]*c[EFivwPxh]*( [^- ]\S*){1,2}$`),
	"git": regexp.MustCompile(`^ rev-list --count [^ ]+$`), "stat": regexp.MustCompile(`^ -c ?%[sYaXZ] `), "jq": regexp.MustCompile(`^( -r)? length`), "tput": regexp.MustCompile(`^ (cols|lines)$`),
}

// counts says whether a substitution yields a number.
func (a *analysis) counts(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 {
		return false
	}
	cmd := c.Stmts[0].Cmd
	for {
		pipe, ok := cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe {
			break
		}
		cmd = pipe.Y.Cmd
	}
	call, ok := cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return false
	}
	words := a.words(call.Args)
	name := string(words[0].text)
	if counters[name] == nil || a.functions[name] {
		return false
	}
	var b strings.Builder
	for _, w := range words[1:] {
		b.WriteString(" " + strings.ReplaceAll(w.text.String(), " ", "_"))
	}
	return counters[name].MatchString(b.String())
}
