package environment

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"paddock/internal/agents"
)

// brokerKeys has the key of the agent's model go to the model's host alone, where
// the spec does not say: the agent can do with a placeholder, since the host is
// known.
func (p *parser) brokerKeys() {
	known, ok := agents.Find(p.spec.Agent)
	if !ok {
		return
	}
	for i := range p.secretsAt {
		s := &p.secretsAt[i]
		at := slices.IndexFunc(known.Keys, func(k agents.Key) bool { return k.Variable == s.Name })
		if at < 0 || s.Brokered() {
			continue
		}
		host, why := p.keyHost(known, known.Keys[at])
		if why != "" {
			p.warnings = append(p.warnings, Warning{Line: s.at.Line, Path: "secrets." + s.Name,
				Message: fmt.Sprintf("is there inside as it is, since %s; with a host it would go nowhere else", why)})
			continue
		}
		s.Host, s.found, p.spec.Secrets[i].Host = host, true, host // which checkSecrets tells
	}
}

// keyHost is the host that a model's key is for, or why it is not known.
func (p *parser) keyHost(a agents.Agent, k agents.Key) (host, why string) {
	if base := p.spec.Env[k.BaseURL]; base != "" {
		u, err := url.Parse(base)
		if err != nil || u.Hostname() == "" {
			return "", "env." + k.BaseURL + " is no URL"
		}
		name, wrong := readHost(u.Hostname())
		if wrong != "" || strings.HasPrefix(name, "*") {
			return "", "the host of env." + k.BaseURL + " has no name"
		}
		return name, ""
	}
	several := slices.ContainsFunc(a.Hosts, func(host string) bool { return strings.HasPrefix(host, "*.") })
	switch {
	case k.Host == "":
		return "", "env." + k.BaseURL + " does not say which host it is for"
	case several:
		return "", a.Name + " may use it with more than one host"
	}
	return k.Host, ""
}
