package environment

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Repo is a git repository that is cloned into a new session's workspace.
type Repo struct {
	URL    string `json:"url" yaml:"url"`
	Path   string `json:"path" yaml:"path"`                         // in the workspace
	Branch string `json:"branch,omitempty" yaml:"branch,omitempty"` // or tag; empty: what the repository says
	Depth  int    `json:"depth,omitempty" yaml:"depth,omitempty"`   // commits of history; 0: all
}

const (
	// maxRepos is how many repositories a spec may have: all are cloned before the
	// session is ready.
	maxRepos    = 20
	repoExample = "owner/name"
	// forge is where owner/name is.
	forge = "https://github.com/"
)

var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)

func (p *parser) repos(v value) {
	p.items(v, repoExample, maxRepos, func(v value) {
		r := p.repo(v)
		p.spec.Repos = append(p.spec.Repos, r)
	})
}

func (p *parser) repo(v value) (r Repo) {
	if v.node.Kind == yaml.ScalarNode {
		p.repoURL(v, &r)
		r.Path = repoName(r.URL)
		return r
	}
	var where, as *value
	p.fields(v, fields{
		"repo":   func(_ *parser, v value) { where = &v },
		"url":    func(_ *parser, v value) { as = &v },
		"branch": func(p *parser, v value) { r.Branch = p.branch(v) },
		"path":   func(p *parser, v value) { r.Path = p.repoPath(v) },
		"depth":  func(p *parser, v value) { r.Depth = p.depth(v) },
	}, "{repo: "+repoExample+", branch: main}")
	switch {
	case v.node.Kind != yaml.MappingNode:
	case where != nil && as != nil:
		p.fault(as.key, as.path, "goes not with repo; write one of them")
	case where != nil:
		p.repoURL(*where, &r)
	case as != nil:
		p.repoURL(*as, &r)
	default:
		p.fault(v.node, v.path+".repo", "is missing; write owner/name, or the url of a repository")
	}
	if r.Path == "" {
		r.Path = repoName(r.URL)
	}
	return r
}

// repoURL reads owner/name or an address.
func (p *parser) repoURL(v value, r *Repo) {
	text, ok := p.text(v, "owner/name, or an address such as https://git.example.com/team/project.git")
	if !ok {
		return
	}
	if ownerName.MatchString(text) && repoName(text) != "" {
		r.URL = forge + text
		return
	}
	u, err := url.Parse(text)
	switch {
	case strings.HasPrefix(text, "git@"), err == nil && (u.Scheme == "ssh" || u.Scheme == "git"):
		p.fault(v.node, v.path, "sandboxes clone over https; write https://HOST/PATH")
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		p.fault(v.node, v.path, "%q is neither owner/name nor an address such as https://git.example.com/team/project.git", clip(text))
	case u.User != nil:
		p.fault(v.node, v.path, "has a user or password in it; a password belongs into a secret for the host")
	case notReachable(u.Hostname()) != "":
		p.fault(v.node, v.path, "%q %s", clip(u.Hostname()), notReachable(u.Hostname()))
	case repoName(text) == "":
		p.fault(v.node, v.path, "%q names no repository", clip(text))
	default:
		r.URL = text
	}
}

// repoName is the last name of a repository's address.
func repoName(address string) string {
	if u, err := url.Parse(address); err == nil {
		address = u.Path
	}
	name := strings.TrimSuffix(path.Base(path.Clean("/"+address)), ".git")
	if name == "/" || name == "." || name == ".." {
		return ""
	}
	return name
}

func (p *parser) branch(v value) string {
	name, ok := p.text(v, "a branch such as main")
	if ok && (name == "" || name[0] == '-' || strings.ContainsAny(name, " ~^:?*[\\\t\n") || strings.Contains(name, "..") || len(name) > 255) {
		p.fault(v.place(), v.path, "%q is no name of a branch or tag", clip(name))
	}
	return name
}

func (p *parser) repoPath(v value) string {
	text, ok := p.text(v, "a folder of the workspace such as src/project")
	clean := path.Clean(strings.TrimPrefix(text, "/workspace/"))
	switch {
	case !ok:
	case text == "" || clean == "." || path.IsAbs(clean) || slices.Contains(strings.Split(text, "/"), ".."):
		p.fault(v.place(), v.path, "%q is no folder below the workspace, such as src/project", clip(text))
	case len(clean) > 1024:
		p.fault(v.node, v.path, "has %d bytes, at most 1024 are allowed", len(clean))
	}
	return clean
}

func (p *parser) depth(v value) int {
	text, ok := p.text(v, "a number of commits such as 1")
	n, err := strconv.Atoi(text)
	if ok && (err != nil || n < 1) {
		p.fault(v.node, v.path, "wants a number of commits such as 1, not %q", clip(text))
	}
	return n
}

// checkRepos checks what no repository says alone, and adds their hosts to egress.
func (p *parser) checkRepos() {
	list, set := p.at["repos"]
	if !set || len(p.spec.Repos) != len(list.node.Content) {
		return
	}
	for i, r := range p.spec.Repos {
		at := value{path: list.path, node: list.node.Content[i]}
		for _, other := range p.spec.Repos[:i] {
			if r.Path != "" && (r.Path == other.Path || strings.HasPrefix(r.Path, other.Path+"/") || strings.HasPrefix(other.Path, r.Path+"/")) {
				p.fault(at.node, at.path, "%s would be in %s, where another one is; give it a path of its own", clip(r.URL), clip(r.Path))
				break
			}
		}
		u, err := url.Parse(r.URL)
		if err != nil || r.URL == "" {
			continue
		}
		p.reach(strings.ToLower(u.Hostname()), at, "repository "+clip(r.URL))
		if u.Scheme == "http" {
			p.note(at.node.Line, at.path, "%s is cloned without encryption: what comes may be another's, and passwords can be read on the way", clip(r.URL))
		}
	}
}
