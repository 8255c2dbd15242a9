package environment

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Tool is an MCP server that the agent is given: a program that it starts inside
// the sandbox, or one that it calls.
type Tool struct {
	Name    string            `json:"name" yaml:"name"`                           // rules name its tools mcp.NAME.TOOL
	Command []string          `json:"command,omitempty" yaml:"command,omitempty"` // or URL
	Env     map[string]string `json:"env,omitempty" yaml:"env,omitempty"`         // of Command
	URL     string            `json:"url,omitempty" yaml:"url,omitempty"`         // streamable HTTP
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"` // of requests to URL
}

const (
	// maxTools is how many MCP servers a spec may have: each is a process, or a
	// connection, of the agent's, and a share of its model's context.
	maxTools = 50
	// maxName is the longest name of what a spec lists by name.
	maxName = 64
)

const toolExample = "{name: docs, command: [docs-mcp, --stdio]}"

func (p *parser) tools(v value) {
	p.items(v, toolExample, maxTools, func(v value) { p.spec.Tools = append(p.spec.Tools, p.tool(v)) })
}

func (p *parser) tool(v value) (t Tool) {
	set := map[string]value{}
	keep := func(read func(v value)) func(*parser, value) {
		return func(_ *parser, v value) { set[v.key.Value] = v; read(v) }
	}
	p.fields(v, fields{
		"name":    keep(func(v value) { t.Name = p.listName(v) }),
		"command": keep(func(v value) { t.Command = p.program(v, "[docs-mcp, --stdio]") }),
		"env":     keep(func(v value) { t.Env = p.variables(v, "DOCS_PATH: /workspace/docs") }),
		"url":     keep(func(v value) { t.URL = p.toolURL(v) }),
		"headers": keep(func(v value) { t.Headers = p.headers(v) }),
	}, toolExample)
	if len(set) == 0 {
		return t // that was said
	}
	if _, named := set["name"]; !named {
		p.fault(v.node, v.path+".name", "is missing; rules name the server's tools by it, mcp.NAME.TOOL")
	}
	_, command := set["command"]
	address, called := set["url"]
	switch {
	case command && called:
		p.fault(address.key, address.path, "goes not with command; a server is started or called")
	case !command && !called:
		p.fault(v.node, v.path, "has neither command nor url; write command: [docs-mcp, --stdio] or url: https://docs.example.com/mcp")
	}
	if env, ok := set["env"]; ok && !command && called {
		p.fault(env.key, env.path, "goes with command only; what a server behind a url is told goes into headers")
	}
	if headers, ok := set["headers"]; ok && command && !called {
		p.fault(headers.key, headers.path, "goes with url only; what a program is told goes into env or command")
	}
	return t
}

// listName reads the name of an entry that agents know it by.
func (p *parser) listName(v value) string {
	name, ok := p.text(v, "a name such as docs")
	if !ok {
		return ""
	}
	switch inside := strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789"); {
	case name == "" || len(name) > maxName,
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "",
		strings.ContainsAny(name[:1]+name[len(name)-1:], "-_"):
		p.fault(v.node, v.path, "%q is no name; it has a-z, 0-9, - and _, begins and ends with one of the former, and has at most %d characters", clip(name), maxName)
	case strings.Contains(inside, "__"):
		p.fault(v.node, v.path, "%q has __ in it, by which agents tell a server from its tools; write one _", clip(name))
	}
	return name
}

// program reads a command as a list.
func (p *parser) program(v value, example string) []string {
	list := p.texts(v, example)
	if v.node.Kind == yaml.SequenceNode && (len(v.node.Content) == 0 || v.node.Content[0].Value == "") {
		p.fault(v.node, v.path, "names no program; write a list such as %s", example)
	}
	return list
}

func (p *parser) toolURL(v value) string {
	text, ok := p.text(v, "an address such as https://docs.example.com/mcp")
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		p.fault(v.node, v.path, "%q is no address such as https://docs.example.com/mcp", clip(text))
	case u.Scheme == "http" && !ownLoopback(u.Hostname()):
		p.fault(v.node, v.path, "http would carry headers and answers readable over the network; write https:// (http goes to the sandbox's own localhost only)")
	case u.Scheme != "http" && u.Scheme != "https":
		p.fault(v.node, v.path, "%s:// is not supported; write https://", clip(u.Scheme))
	case u.User != nil:
		p.fault(v.node, v.path, "has a password in it; write headers: {Authorization: …}")
	default:
		if wrong := notReachable(u.Hostname()); wrong != "" {
			p.fault(v.node, v.path, "%q %s", clip(u.Hostname()), wrong)
		}
	}
	return text
}

// notReachable says why no sandbox reaches a host of a URL, or "".
func notReachable(host string) (wrong string) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if !addr.Is4() {
			return "is IPv6, which sandboxes do not have"
		}
		return ""
	}
	if strings.HasPrefix(host, "*") {
		return "is no host's name"
	}
	_, wrong = readHost(host)
	return wrong
}

// ownLoopback says whether a host is the sandbox itself.
func ownLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (p *parser) headers(v value) (headers map[string]string) {
	p.mapping(v, "Authorization: Bearer …", func(v value) {
		text, ok := p.text(v, "a text")
		switch {
		case !ok:
		case strings.Trim(v.key.Value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") != "" || v.key.Value == "":
			p.fault(v.key, v.path, "is no name of a header")
		case strings.ContainsAny(text, "\r\n"):
			p.fault(v.node, v.path, "a header is one line")
		default:
			if headers == nil {
				headers = map[string]string{}
			}
			headers[v.key.Value] = text
		}
	})
	return headers
}

// takesNothing are the agents that heed neither tools nor skills.
var takesNothing = []string{"demo", "none"}

// checkTools checks what no tool says alone, adds the hosts that tools call to
// egress, and warns of rules about tools that nobody gives.
func (p *parser) checkTools() {
	list, set := p.at["tools"]
	if set && len(p.spec.Tools) == len(list.node.Content) {
		first := map[string]bool{}
		for i, t := range p.spec.Tools {
			at := value{path: list.path, node: list.node.Content[i]}
			if t.Name != "" && first[t.Name] {
				p.fault(at.node, at.path, "name %q stands twice; each server has its own", clip(t.Name))
			}
			first[t.Name] = true
			if u, err := url.Parse(t.URL); err == nil && t.URL != "" && !ownLoopback(u.Hostname()) {
				p.reach(strings.ToLower(u.Hostname()), at, "tool "+t.Name)
			}
		}
		p.warn("tools", slices.Contains(takesNothing, p.spec.Agent) && len(p.spec.Tools) > 0, "has no effect: agent "+p.spec.Agent+" takes no MCP servers")
	}
	rules := p.at["permissions.rules"]
	for i, r := range p.spec.Permissions.Rules {
		family, rest, _ := strings.Cut(r.Tool, ".")
		server, tool, _ := strings.Cut(rest, ".")
		if family != "mcp" || strings.Contains(server, "*") || tool == "" || !set {
			continue
		}
		names := []string{}
		for _, t := range p.spec.Tools {
			names = append(names, t.Name)
		}
		if !slices.Contains(names, server) {
			p.note(rules.node.Content[i].Line, rules.path, "%s: tools has no server %q%s", r.Tool, clip(server), suggest(server, names))
		}
	}
}
