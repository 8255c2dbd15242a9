package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"paddock/internal/agents"
	"paddock/internal/agents/installed"
	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/session"
	"paddock/internal/store"
)

// installedAgents are the versions that sessions may use. Who stores a session
// with one holds mu for reading until that is stored, so that nobody removes the
// version meanwhile.
type installedAgents struct {
	folder installed.Folder
	mu     sync.RWMutex
}

// pin is the version of its agent that a new session gets; done is called once the
// session is stored, or will not be.
type pin struct {
	version string
	done    func()
}

// pinAgent chooses the version. A spec whose agent is not here is BadRequest.
func (e *Engine) pinAgent(spec environment.Spec) (pin, error) {
	p := pin{done: func() {}}
	a, known := agents.Find(spec.Agent)
	if !known {
		return p, nil
	}
	if _, err := overlaid(a, spec.Env); err != nil {
		return p, err
	}
	if spec.Template == environment.DefaultTemplate {
		if err := onThisHost(a); err != nil {
			return p, err
		}
	}
	if !a.Installable() {
		return p, nil
	}
	e.agents.mu.RLock()
	if p.version = e.agents.folder.Current(a.Name); p.version == "" {
		e.agents.mu.RUnlock()
		return p, fault.New(fault.BadRequest, "agent %s is not installed; on the server's machine: paddock agent install %s", a.Name, a.Name)
	}
	p.done = e.agents.mu.RUnlock
	return p, nil
}

// programFolders are where the template of this host has its programs from.
var programFolders = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// onThisHost says what an agent lacks that comes from the system and is not
// installed by us.
func onThisHost(a agents.Agent) error {
	switch {
	case !a.Installable() && !hasProgram(a.Command):
		return fault.New(fault.BadRequest, "agent %s is not here: %s", a.Name, a.Obtain)
	case a.Node && !hasProgram("node"):
		return fault.New(fault.BadRequest, "agent %s needs Node.js, which this machine does not have: install it, such as by apt-get install nodejs, and start the server anew", a.Name)
	}
	return nil
}

func hasProgram(name string) bool {
	return slices.ContainsFunc(programFolders, func(folder string) bool {
		info, err := os.Stat(filepath.Join(folder, name))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}

// agentOf says how a session's agent is started.
func agentOf(s session.Session, spec environment.Spec) guestapi.Agent {
	agent := guestapi.Agent{Adapter: "acp", Name: spec.Agent}
	switch spec.Agent {
	case "none":
		agent.Adapter = "none"
		return agent
	case "demo":
		agent.Argv = []string{guestapi.DemoPath}
		return agent
	}
	a, known := agents.Find(spec.Agent)
	if !known {
		agent.Argv = spec.Command
		return agent
	}
	place := agents.Place(a.Name, s.AdapterVersion)
	agent.Adapter, agent.Argv, agent.Auth, agent.Mode = a.Adapter, a.Argv(place), a.Auth, a.Mode
	agent.Env = a.Environ(place)
	if text, err := overlaid(a, spec.Env); err == nil && text != "" { // a faulty one was refused at create
		agent.Env[a.Overlay.Variable] = text
	}
	return agent
}

// skillsDir is where the agent of a spec looks for skills; "" where it does not.
func skillsDir(spec environment.Spec) string {
	a, known := agents.Find(spec.Agent)
	if !known || a.Skills.Folder == "" {
		return ""
	}
	if dir := spec.Env[a.Skills.Variable]; path.IsAbs(dir) {
		return path.Join(dir, "skills")
	}
	return path.Join(agentHome(spec), a.Skills.Folder)
}

// overlaid is the value of the variable that an agent is given its policy in: what
// the spec has there with ours laid over it; "" where it is not given it so.
func overlaid(a agents.Agent, env map[string]string) (string, error) {
	name := a.Overlay.Variable
	if name == "" {
		return "", nil
	}
	below, over := map[string]any{}, map[string]any{}
	if err := json.Unmarshal([]byte(a.Overlay.Object), &over); err != nil {
		return "", fmt.Errorf("read overlay of %s: %w", a.Name, err)
	}
	if text := env[name]; text != "" {
		if err := json.Unmarshal([]byte(text), &below); err != nil || below == nil {
			return "", fault.New(fault.BadRequest, "env.%s is no JSON object (%v); what agent %s may do is laid over it", name, err, a.Name)
		}
	}
	text, err := json.Marshal(layOver(below, over))
	return string(text), err
}

// layOver replaces what both have, but adds to lists.
func layOver(below, over map[string]any) map[string]any {
	for key, value := range over {
		before, wasList := below[key].([]any)
		if list, isList := value.([]any); isList && wasList {
			value = slices.Concat(before, list)
		}
		below[key] = value
	}
	return below
}

// agentHosts are the hosts that a spec's agent needs: those of the keys that it is
// given, of all its keys where it is given none, and some of its own.
func agentHosts(spec environment.Spec) (hosts []string, nets []netip.Prefix) {
	a, known := agents.Find(spec.Agent)
	if !known {
		return nil, nil
	}
	given := func(k agents.Key) bool {
		return spec.Env[k.Variable] != "" || spec.HasSecret(k.Variable) || spec.Env[k.BaseURL] != ""
	}
	var config any
	_ = json.Unmarshal([]byte(spec.Env[a.Overlay.Variable]), &config) // a faulty one was refused at create
	names := hostsIn(config, a.Overlay.BaseURL)
	some := len(names) > 0 || slices.ContainsFunc(a.Keys, given)
	for _, k := range a.Keys {
		switch base := hostOf(spec.Env[k.BaseURL]); {
		case some && !given(k):
		case base != "":
			names = append(names, base)
		case k.Host != "":
			names = append(names, k.Host)
		}
	}
	for _, name := range append(names, a.Hosts...) {
		if addr, err := netip.ParseAddr(name); err == nil {
			nets = append(nets, netip.PrefixFrom(addr, addr.BitLen()))
		} else {
			hosts = append(hosts, name)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), slices.Compact(nets)
}

// hostsIn are the hosts of the URLs that stand behind a key anywhere in a document.
func hostsIn(document any, key string) (hosts []string) {
	object, _ := document.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		hosts = append(hosts, hostsIn(object[name], key)...)
		if text, ok := object[name].(string); ok && name == key && hostOf(text) != "" {
			hosts = append(hosts, hostOf(text))
		}
	}
	return hosts
}

// hostOf is the host of a URL, "" when there is none.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// agentNotes says what a spec's agent is given that the spec does not say, and what
// it lacks.
func (e *Engine) agentNotes(spec environment.Spec) (notes []string) {
	if lacks := missingKeys(spec); lacks != "" {
		notes = append(notes, fmt.Sprintf("secrets: agent %s has no key, without which its model answers nothing: %s", spec.Agent, lacks))
	}
	notes = append(notes, missingModels(spec)...)
	if !spec.Egress.Limited {
		return notes
	}
	hosts, nets := agentHosts(spec)
	told := slices.Concat(spec.Egress.AllowHosts, spec.SecretHosts()) // of a secret's the spec's own notes tell
	var more []string
	for _, host := range hosts {
		if !slices.Contains(told, host) {
			more = append(more, host)
		}
	}
	for _, net := range nets {
		if !slices.Contains(spec.Egress.AllowIPs, net) && e.closed(net) == "" {
			more = append(more, net.Addr().String())
		}
	}
	if len(more) > 0 {
		notes = append(notes, fmt.Sprintf("egress: agent %s needs %s, too, and may connect there", spec.Agent, strings.Join(more, ", ")))
	}
	return notes
}

// missingKeys are the variables one of which a spec's agent needs, "" where it has
// one or may do without. ACP agents may, some models are free; an image may have
// one in its environment; and clouds have keys of their own.
func missingKeys(spec environment.Spec) string {
	a, known := agents.Find(spec.Agent)
	if !known || a.Adapter == "acp" || needsImage(spec) {
		return ""
	}
	var names []string
	for _, k := range a.Keys {
		if spec.Env[k.Variable] != "" || spec.HasSecret(k.Variable) {
			return ""
		}
		names = append(names, k.Variable)
	}
	for name := range spec.Env {
		if strings.HasPrefix(name, "CLAUDE_CODE_USE_") {
			return ""
		}
	}
	return strings.Join(names, " or ")
}

// missingModels says which variables must name a model and do not: an agent knows
// none of a server that is not its makers'.
func missingModels(spec environment.Spec) (notes []string) {
	a, known := agents.Find(spec.Agent)
	if !known || needsImage(spec) { // an image may have one in its environment
		return nil
	}
	has := func(name string) bool { return spec.Env[name] != "" || spec.HasSecret(name) }
	for _, k := range a.Keys {
		if k.Model != "" && has(k.BaseURL) && !has(k.Model) {
			notes = append(notes, fmt.Sprintf("env: agent %s needs %s, too: which model of the server that %s names", spec.Agent, k.Model, k.BaseURL))
		}
	}
	return notes
}

// AgentInstallation is one installed version of an agent, and how many living
// sessions use it.
type AgentInstallation struct {
	installed.Agent
	Sessions int
}

// Agents gives the folder of installed agents and what is in it.
func (e *Engine) Agents(ctx context.Context) (folder string, list []AgentInstallation, err error) {
	found, err := e.agents.folder.List()
	if err != nil {
		return "", nil, err
	}
	for _, one := range found {
		users, err := e.usersOf(ctx, one.Name, one.Version)
		if err != nil {
			return "", nil, err
		}
		list = append(list, AgentInstallation{one, len(users)})
	}
	return e.agents.folder.Dir(), list, nil
}

// RemoveAgent takes an installed version of an agent away, unless living sessions
// use it.
func (e *Engine) RemoveAgent(ctx context.Context, name, version string) error {
	a, known := agents.Find(name)
	if !known || !e.agents.folder.Has(a.Name, version) {
		return fault.New(fault.NotFound, "agent %s %s is not installed", name, version)
	}
	e.agents.mu.Lock()
	defer e.agents.mu.Unlock()
	users, err := e.usersOf(ctx, a.Name, version)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		names := make([]string, min(len(users), 3))
		for i := range names {
			names[i] = users[i].Name
		}
		text := strings.Join(names, ", ")
		if more := len(users) - len(names); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return fault.New(fault.Conflict, "agent %s %s is in use by session %s; remove that first", a.Name, version, text)
	}
	return e.agents.folder.Remove(a.Name, version)
}

// usersOf lists the living sessions of all teams that use a version.
func (e *Engine) usersOf(ctx context.Context, name, version string) ([]session.Session, error) {
	users, err := e.store.Sessions(ctx, store.SessionFilter{Adapter: name, AdapterVersion: version, States: listed})
	if err != nil {
		return nil, fmt.Errorf("look for sessions of agent %s: %w", name, err)
	}
	return users, nil
}
