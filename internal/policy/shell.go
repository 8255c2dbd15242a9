package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of what is taken apart; beyond them a command is as good as
// unknown.
const (
	maxCommand = 16 << 10 // bytes
	maxItems   = 500
	maxParens  = 400 // ( and `; deep nests take long to read
	maxDepth   = 8   // shells in shells
	maxNested  = 40  // commands that start commands
)

// script takes a shell command apart. It is read as bash does and as a plain
// POSIX shell does, since the same text may do different things in both: all of
// what either would run has to pass.
func (p Policy) script(command, dir string) []item {
	if strings.TrimSpace(command) == "" {
		return []item{unknown("the agent did not say which command")}
	}
	if len(command) > maxCommand || strings.Count(command, "(")+strings.Count(command, "`") > maxParens || strings.ContainsRune(command, 0) {
		return []item{unknown("the command cannot be read")}
	}
	a := &analysis{policy: p, dir: dir}
	a.values, a.functions, a.calls = map[string][]word{}, map[string]bool{}, map[string][]word{}
	for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		a.lang = lang
		a.read(command)
	}
	a.evaluate()
	if a.homed && a.login {
		a.unknown("a shell reads files in a HOME that is set")
	}
	if len(a.items) > maxItems {
		return append(a.items[:maxItems:maxItems], unknown("the command does too much to be read"))
	}
	seen := map[string]bool{}
	list := a.items
	a.items = nil
	for _, it := range list { // the two readings mostly are one
		if a.place(&it); !seen[it.key()] {
			a.items, seen[it.key()] = append(a.items, it), true
		}
	}
	if !decides(a.items) { // such as X=1: runs nothing
		return append(a.items, item{tools: []text{text(Bash)}, command: text(command)})
	}
	return a.items
}

// decides says whether one of the items counts by itself.
func decides(items []item) bool {
	return slices.ContainsFunc(items, func(it item) bool { return !it.aside })
}

// analysis collects what a command does.
type analysis struct {
	policy Policy
	dir    string
	lang   syntax.LangVariant
	depth  int
	moved  bool // it may change its folder
	items  []item
	evaluation
	homed, login bool // HOME is set; a shell reads what lies there
	guessing     bool
	nested       int // commands that start commands
}

func (a *analysis) add(it item) {
	if len(a.items) <= maxItems {
		a.items = append(a.items, it)
	}
}

func (a *analysis) unknown(why string) { a.add(unknown(why)) }

// read takes a text of shell commands apart. A shell runs what stands before a
// mistake, so that counts, too; what is no POSIX is left to bash.
func (a *analysis) read(script string) {
	a.depth++
	defer func() {
		a.depth--
		if recover() != nil { // the parser is not ours, and the text is a stranger's
			a.unknown("the command cannot be read")
		}
	}()
	if a.depth > maxDepth {
		a.unknown("shells start shells too deep to be read")
		return
	}
	var mistake error
	for statement, err := range syntax.NewParser(syntax.Variant(a.lang)).StmtsSeq(strings.NewReader(script)) {
		if err != nil || mistake != nil || statement == nil {
			mistake = cmp.Or(mistake, err) // leaving the loop here makes some texts panic
			continue
		}
		syntax.Walk(statement, a.visit)
	}
	if mistake != nil && a.lang == syntax.LangBash {
		a.unknown("the command cannot be read: " + mistake.Error())
	}
}

// visit takes one node of the syntax; those inside it follow by themselves.
func (a *analysis) visit(n syntax.Node) bool {
	if len(a.items) > maxItems {
		return false
	}
	if a.lang == syntax.LangBash {
		a.noted(n)
	}
	switch n := n.(type) {
	case *syntax.Stmt:
		for _, r := range n.Redirs {
			a.redirect(r)
		}
		if call, ok := n.Cmd.(*syntax.CallExpr); ok {
			a.call(call, n.Redirs)
			a.parted(call, n.Redirs)
		}
	case *syntax.DeclClause:
		words := []word{{text: text(n.Variant.Value)}}
		for _, assign := range n.Args {
			words = append(words, a.assignment(assign))
		}
		a.simple(nil, words, nil)
	}
	return true
}

func (a *analysis) call(call *syntax.CallExpr, redirects []*syntax.Redirect) {
	var assigns []word
	for _, assign := range call.Assigns {
		assigns = append(assigns, a.assignment(assign))
	}
	if len(call.Args) == 0 {
		a.setsAll(assigns, true)
		return
	}
	a.setsAll(assigns, false)
	a.simple(assigns, a.words(call.Args), redirects)
}

// parted takes what stands behind &>, which to a plain shell are two things:
// the end of one command and the beginning of the next.
func (a *analysis) parted(call *syntax.CallExpr, redirects []*syntax.Redirect) {
	for _, r := range redirects {
		if r.Op != syntax.RdrAll && r.Op != syntax.AppAll {
			continue
		}
		after := slices.IndexFunc(call.Args, func(w *syntax.Word) bool { return w.Pos().After(r.OpPos) })
		if after >= 0 {
			a.simple(nil, a.words(call.Args[after:]), nil)
		}
	}
}

// harmless are variables that may be set for a command without making another
// one of it.
func harmless(name string) bool {
	return strings.HasPrefix(name, "LC_") || slices.Contains([]string{
		"CI", "COLUMNS", "DEBIAN_FRONTEND", "FORCE_COLOR", "GOARCH", "GOOS", "LANG", "NODE_ENV", "NO_COLOR", "TERM", "TZ",
	}, name)
}

// simple takes one simple command: itself, and what it starts in turn.
func (a *analysis) simple(assigns, words []word, redirects []*syntax.Redirect) {
	if len(words) == 0 || len(a.items) > maxItems {
		return
	}
	a.nested++
	defer func() { a.nested-- }()
	if a.nested > maxNested {
		a.unknown("commands start commands too deep to be read")
		return
	}
	head := words[0]
	name := path.Base(path.Clean(string(head.text)))
	it := item{command: join(append(slices.Clone(assigns), words...)), tools: []text{text(Bash)}}
	it.bare = join(append([]word{{text: text(name)}}, words[1:]...))
	if it.doubt = doubtful(string(head.text)); slices.Equal(it.bare, it.command) {
		it.bare = nil
	}
	for _, w := range assigns {
		variable, _, _ := strings.Cut(string(w.text), "=")
		it.doubt = it.doubt || !harmless(variable)
	}
	if !head.text.known() {
		it.bare, it.unsure = nil, "its program is known only when it runs"
		a.add(it)
		a.unknown(it.unsure)
		a.moved = true
		return
	}
	if name == "cd" || name == "pushd" || name == "popd" {
		a.moved = true
	}
	for _, w := range words[1:] {
		if a.notes++; a.notes < maxEvaluated {
			a.calls[name] = append(a.calls[name], w)
		} else {
			a.anyName = true
		}
	}
	a.builtin(name, words[1:])
	at := len(a.items)
	switch u := (unwrapping{analysis: a, name: name, assigns: assigns, args: words[1:], redirects: redirects}); {
	case name == "git":
		it.tools = append(it.tools, u.git())
	case wrapperOf(name) != nil:
		onlyThat := wrapperOf(name)(&u)
		it.aside = onlyThat && !it.doubt && decides(a.items[at:])
	case strings.HasPrefix(name, "ld-") || strings.HasPrefix(name, "ld.so"):
		a.unknown("a loader starts another program")
	default:
		u.hidden()
	}
	a.items = slices.Insert(a.items, min(at, len(a.items)), it)
}

// doubtful says whether a program may be another one than its name says.
func doubtful(head string) bool {
	if !strings.Contains(head, "/") {
		return strings.ContainsAny(head, " \t\n")
	}
	switch path.Dir(path.Clean(head)) {
	case "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin":
		return false
	}
	return true
}

// quietFiles are no files that anybody reads or writes.
var quietFiles = []string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"}

// redirect takes a file that a redirection opens. Reading one counts only for
// rules about it: the command that reads might as well name it.
func (a *analysis) redirect(r *syntax.Redirect) {
	it := item{tools: []text{text(FileWrite)}}
	switch r.Op {
	case syntax.RdrIn:
		it.tools, it.aside = []text{text(FileRead)}, true
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	}
	words := a.words([]*syntax.Word{r.Word})
	for _, w := range words {
		name := string(w.text)
		if (r.Op == syntax.DplOut || r.Op == syntax.DplIn) && w.text.known() && strings.Trim(name, "0123456789-") == "" {
			continue // another one of its own files
		}
		if slices.Contains(quietFiles, name) {
			continue
		}
		f := it
		if f.path = w.text; !f.path.known() {
			f.path, f.unsure = text{gap}, "the file is known only when it runs"
		}
		a.add(f)
	}
}

// place makes the path of a redirection absolute, where its folder is known.
func (a *analysis) place(it *item) {
	if it.path == nil || !it.path.known() {
		return
	}
	name := string(it.path)
	if strings.HasPrefix(name, "~") && name != "~" && !strings.HasPrefix(name, "~/") ||
		a.moved && !path.IsAbs(name) && !strings.HasPrefix(name, "~") {
		it.path, it.unsure = text{gap}, "the folder of "+name+" is known only when it runs"
		return
	}
	it.path = text(a.policy.absolute(strings.TrimSuffix(name, "/"), a.dir))
}
