package policy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// item is one thing that a call does, decided by itself.
type item struct {
	tools   []text
	command text // as written, with the variables that are set for it
	bare    text // without them, its program by its name alone; nil: as command
	doubt   bool // bare may be another program than it says: no reason to allow
	path    text
	host    text
	url     text
	aside   bool // comes with a call that is decided by itself: only rules that mean it hold
	unsure  string
}

// unknown is a command of which nothing is known.
func unknown(why string) item {
	return item{tools: []text{text(Bash), {'g', 'i', 't', '.', gap}}, command: text{gap}, unsure: why}
}

// Decide says what becomes of a call.
func (p Policy) Decide(c Call) Verdict {
	v := Verdict{Action: Allow, Rule: -1}
	rules := p.ready()
	for i, it := range p.items(c) {
		w := p.decide(rules, it)
		if i == 0 || w.Action != v.Action && stricter(w.Action, v.Action) == w.Action {
			v = w
		}
	}
	return v
}

// items takes a call apart.
func (p Policy) items(c Call) []item {
	switch c.Tool {
	case Bash:
		return p.script(c.Command, c.Dir)
	case WebFetch:
		return []item{fetch(c.URL)}
	case FileRead, FileWrite:
		if len(c.Paths) == 0 {
			return []item{{tools: []text{text(c.Tool)}, path: text{gap}, unsure: "the agent did not say which file"}}
		}
		var list []item
		for _, name := range c.Paths {
			list = append(list, item{tools: []text{text(c.Tool)}, path: text(p.absolute(strings.TrimSuffix(name, "/"), c.Dir))})
		}
		return list
	}
	return []item{{tools: []text{text(c.Tool)}}}
}

func fetch(address string) item {
	it := item{tools: []text{text(WebFetch)}, url: text(address)}
	u, err := url.Parse(address)
	if address == "" || err != nil || u.Hostname() == "" {
		it.url, it.host, it.unsure = text{gap}, text{gap}, "the agent did not say which address"
		return it
	}
	it.host = text(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."))
	return it
}

// decide goes through the rules from the last: the first that fits surely
// decides, unless one before it fits perhaps and says otherwise.
func (p Policy) decide(rules []ready, it item) Verdict {
	v := Verdict{Action: p.Default, Rule: -1, Subject: it.subject(), Unsure: it.unsure}
	if it.aside {
		v.Action = Allow
	}
	var perhaps []int
	for i := len(rules) - 1; i >= 0; i-- {
		f := rules[i].fit(it)
		if f == surely {
			v.Action, v.Rule = p.Rules[i].Action, i
			break
		}
		if f == maybe {
			perhaps = append(perhaps, i)
		}
	}
	base := v.Action
	for _, i := range perhaps {
		action := p.Rules[i].Action
		if action == base {
			continue
		}
		if stricter(action, base) == action && (v.Rule < 0 || v.Action == base) {
			v.Rule = i // the rule that may have been meant
		}
		v.Action = stricter(base, Ask)
	}
	if v.Action == base {
		v.Unsure = ""
	} else if v.Unsure == "" {
		v.Unsure = "it cannot be told before it runs"
	}
	return v
}

// ready is a rule whose globs are compiled.
type ready struct {
	Rule
	tool glob
	keys map[string]glob
}

func (p Policy) ready() []ready {
	list := make([]ready, len(p.Rules))
	for i, r := range p.Rules {
		list[i] = ready{Rule: r, tool: plainGlob(r.Tool), keys: map[string]glob{}}
		for key, from := range r.Match {
			switch key {
			case "path":
				list[i].keys[key] = pathGlob(p.absolute(from, ""))
			case "host":
				list[i].keys[key] = plainGlob(strings.ToLower(from))
			default:
				list[i].keys[key] = plainGlob(from)
			}
		}
	}
	return list
}

// fit says whether the rule fits an item.
func (r ready) fit(it item) fit {
	if it.aside && len(r.Match) == 0 && (r.Tool == Any || r.Tool == Bash) {
		return never
	}
	f := never
	for _, tool := range it.tools {
		f = max(f, r.tool.fits(tool))
	}
	for key := range r.keys {
		if f > never {
			f = min(f, r.matches(key, it))
		}
	}
	return f
}

func (r ready) matches(key string, it item) fit {
	t := map[string]text{"command": it.command, "path": it.path, "host": it.host, "url": it.url}[key]
	if t == nil {
		return never
	}
	f := r.keys[key].fits(t)
	if key != "command" {
		return f
	}
	bare := f
	if it.bare != nil {
		bare = r.keys[key].fits(it.bare)
	} else {
		f = never
	}
	if it.doubt && r.Action == Allow {
		bare = min(bare, maybe)
	}
	return max(f, bare)
}

func (it item) subject() string {
	for _, t := range []text{it.command, it.path, it.url} {
		if t != nil {
			return t.String()
		}
	}
	return ""
}

// key tells items apart.
func (it item) key() string {
	var b strings.Builder
	for _, t := range append(slices.Clone(it.tools), it.command, it.bare, it.path) {
		fmt.Fprintf(&b, "%s\x00%t\x00", string(t), t.known())
	}
	fmt.Fprintf(&b, "%t %t", it.doubt, it.aside)
	return b.String()
}
