package environment

import (
	"cmp"
	"fmt"
	"maps"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Secret is a variable of the session whose value nobody is shown.
type Secret struct {
	Name string `json:"name"`
	// Host is the only one that the value goes to: the variable then holds a
	// placeholder, and what it stands for is put into requests to the host on
	// their way out. Empty: the variable holds the value.
	Host string `json:"host,omitempty"`
	// Header is the only header of such a request in which the placeholder is
	// replaced. Empty: all of them, and the query.
	Header string `json:"header,omitempty"`
	// Value is there in a spec that was just read, or whose secrets were unsealed.
	// It is stored sealed, elsewhere.
	Value Confidential `json:"-"`
	// Placeholder is what the sandbox of a spec whose secrets were unsealed holds in
	// place of a brokered one.
	Placeholder string `json:"-"`
}

// Brokered says whether the sandbox holds a placeholder alone.
func (s Secret) Brokered() bool { return s.Host != "" }

// Variables are those of the session: the plain ones, and the secrets.
func (s Spec) Variables() map[string]string {
	if len(s.Secrets) == 0 {
		return s.Env
	}
	all := make(map[string]string, len(s.Env)+len(s.Secrets))
	maps.Copy(all, s.Env)
	for _, secret := range s.Secrets {
		if all[secret.Name] = secret.Value.Reveal(); secret.Brokered() {
			all[secret.Name] = secret.Placeholder
		}
	}
	return all
}

// HasSecret says whether there is a secret of that name.
func (s Spec) HasSecret(name string) bool {
	return slices.ContainsFunc(s.Secrets, func(secret Secret) bool { return secret.Name == name })
}

// SecretHosts are the hosts that brokered secrets are for.
func (s Spec) SecretHosts() (hosts []string) {
	for _, secret := range s.Secrets {
		if secret.Brokered() && !slices.Contains(hosts, secret.Host) {
			hosts = append(hosts, secret.Host)
		}
	}
	return hosts
}

// MinSecret is the shortest value in bytes: what is shorter stands in so many
// other words that it cannot be kept out of a history.
const MinSecret = 6

// maxSecrets is how many secrets a spec may have.
const maxSecrets = 100

const secretExample = "API_TOKEN: its value"

// placedSecret is a secret that is being read, and where it stands.
type placedSecret struct {
	Secret
	at, value *yaml.Node // the name, or the item of a list; the value, nil when there is none
	found     bool       // the host, by the agent's key
}

// shown is what stands for a value wherever a spec is shown.
var shown = regexp.MustCompile(`^\[redacted .*\]$`)

// secrets reads a mapping of names, or a list.
func (p *parser) secrets(v value) {
	switch v.node.Kind {
	case yaml.MappingNode:
		p.mapping(v, secretExample, func(item value) {
			if name, ok := p.secretName(v.path, item.key); ok {
				p.secret(item, placedSecret{Secret: Secret{Name: name}, at: item.key})
			}
		})
	case yaml.SequenceNode:
		for i, node := range v.node.Content {
			p.listedSecret(value{path: fmt.Sprintf("%s[%d]", v.path, i), node: node})
		}
	default:
		p.wants(v, "keys and values such as %s", secretExample)
	}
	if n := len(p.secretsAt); n > maxSecrets {
		p.fault(v.place(), v.path, "lists %d secrets, at most %d are allowed", n, maxSecrets)
	}
	slices.SortStableFunc(p.secretsAt, func(a, b placedSecret) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range p.secretsAt {
		p.spec.Secrets = append(p.spec.Secrets, s.Secret)
	}
}

// secretName checks a name. One that will not do is not repeated: it may be the
// value, in the wrong place.
func (p *parser) secretName(path string, at *yaml.Node) (name string, ok bool) {
	name = at.Value
	twice := slices.ContainsFunc(p.secretsAt, func(s placedSecret) bool { return s.Name == name })
	switch {
	case at.Kind != yaml.ScalarNode || !variableName.MatchString(name):
		p.fault(at, path, "a secret is a variable, whose name has letters, digits and _ and does not begin with a digit")
	case strings.HasPrefix(strings.ToUpper(name), "PADDOCK_"):
		p.fault(at, path, "names that begin with PADDOCK_ are reserved")
	case twice:
		p.fault(at, path, "%s stands here twice", clip(name))
	default:
		return name, true
	}
	return "", false
}

// secret reads what stands behind a name: the value, or the value and where it
// belongs.
func (p *parser) secret(v value, s placedSecret) {
	if v.node.Kind == yaml.MappingNode {
		p.fields(v, secretFields(&s), "{value: …, host: api.example.com}")
	} else {
		p.secretValue(v, &s)
	}
	p.keepSecret(v, s)
}

// listedSecret reads one of a list.
func (p *parser) listedSecret(v value) {
	s := placedSecret{at: v.node}
	named := false
	known := secretFields(&s)
	known["name"] = func(p *parser, v value) {
		named = true
		s.Name, _ = p.secretName(v.path, v.node)
	}
	known["source"] = func(p *parser, v value) { _, _ = p.choice(v, []string{"tenantSecret"}) }
	p.fields(v, known, "name: API_TOKEN")
	if v.node.Kind != yaml.MappingNode {
		return
	}
	if !named {
		p.fault(v.node, v.path+".name", "is missing; write the name of the variable, such as API_TOKEN")
	}
	p.keepSecret(v, s)
}

func secretFields(s *placedSecret) fields {
	return fields{
		"value":  func(p *parser, v value) { p.secretValue(v, s) },
		"host":   func(p *parser, v value) { s.Host = p.secretHost(v) },
		"header": func(p *parser, v value) { s.Header = p.secretHeader(v) },
	}
}

func (p *parser) secretValue(v value, s *placedSecret) {
	s.value = v.node
	text, ok := p.text(v, "a text")
	if !ok {
		return
	}
	s.Value = Conceal(text)
	switch {
	case text == "":
		p.fault(v.place(), v.path, "is empty; write the value, or leave the secret out")
	case shown.MatchString(text):
		p.fault(v.place(), v.path, "is what a server shows in place of a value; write the value")
	case len(text) < MinSecret:
		p.fault(v.place(), v.path, "has %d bytes, and fewer than %d cannot be kept out of the history; make it longer, or write it under env", len(text), MinSecret)
	case strings.ContainsFunc(text, control):
		p.fault(v.place(), v.path, "has a control character, which no variable should")
	}
}

func control(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }

func (p *parser) secretHost(v value) string {
	text, ok := p.text(v, "a host such as api.example.com")
	if !ok {
		return ""
	}
	host, wrong := readHost(text)
	switch {
	case strings.Contains(text, "*"):
		p.fault(v.place(), v.path, "%q is more than one host; a secret is for one, such as api.example.com", clip(text))
	case strings.HasPrefix(wrong, "is an address"):
		p.fault(v.place(), v.path, "%q is an address; write the host's name", clip(text))
	case wrong != "":
		p.fault(v.place(), v.path, "%q %s", clip(text), strings.TrimSuffix(wrong, " or *.example.com"))
	}
	return host
}

var (
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	// framing are headers that say how a request is carried.
	framing = strings.Fields("Connection Content-Length Expect Host Keep-Alive Te Trailer Transfer-Encoding Upgrade")
)

func (p *parser) secretHeader(v value) string {
	text, ok := p.text(v, "the name of a header, such as Authorization")
	if !ok {
		return ""
	}
	header := textproto.CanonicalMIMEHeaderKey(text)
	switch {
	case !headerName.MatchString(text):
		p.fault(v.place(), v.path, "%q is no name of a header such as Authorization", clip(text))
	case slices.Contains(framing, header) || strings.HasPrefix(header, "Proxy-"):
		p.fault(v.place(), v.path, "%s says how a request is carried; no secret goes there", header)
	}
	return header
}

// keepSecret checks a secret as a whole.
func (p *parser) keepSecret(v value, s placedSecret) {
	text := s.Value.Reveal()
	switch {
	case s.value == nil:
		p.fault(v.node, v.path+".value", "is missing; a secret has a value")
	case s.Header != "" && !s.Brokered():
		p.fault(v.node, v.path+".header", "goes with host, the one that the value is for")
	case len(s.Name)+1+len(text) > maxVariable:
		p.fault(s.value, v.path, "has %d bytes, more than the %d that a variable can have", len(text), maxVariable-1-len(s.Name))
	}
	p.secretsAt = append(p.secretsAt, s)
}

// checkSecrets checks the secrets against the rest of the spec.
func (p *parser) checkSecrets(root *yaml.Node) {
	told := map[string]bool{} // hosts that egress does not list
	for _, s := range p.secretsAt {
		path := "secrets." + s.Name
		if _, twice := p.spec.Env[s.Name]; twice {
			p.fault(s.at, path, "is set under env too; write it once")
		}
		if s.Brokered() && strings.ContainsAny(s.Value.Reveal(), "\t\r\n") {
			p.fault(s.value, path, "has a line break or a tab in its value, which no header of a request can have")
		}
		if s.found {
			message := fmt.Sprintf("goes to %s alone, and is not there inside; under env it would be", s.Host)
			if p.beyondEgress(s.Host) && !told[s.Host] {
				message += "; egress does not list that host, but connections to it are allowed"
			}
			p.warnings = append(p.warnings, Warning{Line: s.at.Line, Path: path, Message: message})
		} else if s.Brokered() && p.beyondEgress(s.Host) && !told[s.Host] {
			p.warnings = append(p.warnings, Warning{Line: s.at.Line, Path: path,
				Message: fmt.Sprintf("egress does not list %s; connections to it are allowed, since a secret is for it", s.Host)})
		}
		told[s.Host] = true
		if value := s.Value.Reveal(); s.Name != "" && len(value) >= MinSecret {
			p.checkPlain(root, s.Name, value)
		}
	}
}

// beyondEgress says whether a limited egress does not list a host.
func (p *parser) beyondEgress(host string) bool {
	return p.spec.Egress.Limited && !p.spec.Egress.allows(host)
}

// checkPlain reports a secret's value elsewhere in the spec, where it would be
// stored and shown.
func (p *parser) checkPlain(n *yaml.Node, name, secret string) {
	isValue := func(s placedSecret) bool { return s.value == n }
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, secret) && !slices.ContainsFunc(p.secretsAt, isValue) {
		p.fault(n, "", "the value of secrets.%s stands here too, where it is no secret; write it there alone", name)
	}
	for _, part := range n.Content {
		p.checkPlain(part, name, secret)
	}
}

// Redact gives a valid spec's text without its secrets: as it is where there are
// none, else without comments too, which may repeat a value.
func Redact(text []byte) (string, error) {
	root, fault := load(text)
	if fault != nil {
		return "", newFaults([]Fault{*fault})
	}
	p := parser{at: map[string]value{}, checkName: func(string) error { return nil }}
	p.fields(value{node: root}, specFields, "agent: demo")
	if len(p.secretsAt) == 0 {
		return string(text), nil
	}
	for _, s := range p.secretsAt {
		s.value.SetString(Shown(s.Name))
	}
	bare(root)
	source, err := yaml.Marshal(root)
	if err != nil {
		return "", fmt.Errorf("write spec without secrets: %w", err)
	}
	return string(source), nil
}

// Shown is what stands for the value of a secret wherever it would be seen.
func Shown(name string) string { return "[redacted " + name + "]" }

func bare(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, part := range n.Content {
		bare(part)
	}
}
