// Package agents is the catalogue of the coding agents that Paddock knows by
// name: how each is obtained, started and kept under a policy. It is a table;
// nothing here does anything.
package agents

import (
	"path"
	"slices"
	"strings"
)

// Agent is one row of the catalogue.
type Agent struct {
	Name    string   // the word of a spec
	Title   string   // for people
	Aliases []string // other words that mean it
	Kind    string   // the public protocol's word; "" where it has none

	// Adapter is the way of driving it: "claude", "codex", "acp".
	Adapter string

	// Package is the npm package that it comes in, and Version the one that is
	// installed unless told otherwise. Program is where its program lies in what
	// npm installs: patterns, of which the first counts that fits a file. Trim are
	// patterns of what is removed after that, for nobody needs it.
	Package string
	Version string
	Program []string
	Trim    []string
	Node    bool // the program is a script, and needs Node.js inside

	// Obtain says, where there is no package, how people get it.
	Obtain string

	// Command is its program's name where people have it in their PATH.
	Command string
	// Args follow the program. The adapters "claude" and "codex" add their own.
	Args []string
	// Env is set for it: no updates, no telemetry.
	Env map[string]string
	// Overlay is laid over what a spec gives in a variable that holds a JSON object.
	Overlay Overlay
	// Files lie beside an installed version, read-only inside: name to content.
	Files map[string]string

	// Skills is where it looks for skills; "" in Folder for nowhere.
	Skills Skills

	// Auth is the id of the way to log in that ACP's authenticate is called with,
	// and Mode of the mode that a session is put into; "" for none.
	Auth string
	Mode string

	// Keys are the variables from which it takes the key of its model.
	Keys []Key
	// Hosts are those that it needs beside the hosts of its keys. A name may
	// begin with "*." as in a spec's egress.
	Hosts []string

	// Mediation says which of its calls come before a policy.
	Mediation Mediation
}

// Skills is the folder of an agent's skills: Folder in the home of its user, or
// skills in the folder that the variable names.
type Skills struct {
	Folder   string
	Variable string
}

// Key is a variable that holds the key of a model.
type Key struct {
	Variable string
	Host     string // that the key belongs to; "" when only BaseURL says
	BaseURL  string // the variable that names another server; "" for none
	Model    string // the variable that must name a model where BaseURL does a server; "" for none
}

// Overlay is a JSON object for a variable that holds one.
type Overlay struct {
	Variable string // "" for none
	Object   string
	BaseURL  string // the key that names a model's server, wherever it stands in it
}

// Mediation says which calls of an agent come before a policy.
type Mediation string

// The mediations.
const (
	Full      Mediation = "full"       // all
	AskedOnly Mediation = "asked-only" // those that the agent thinks fit to ask about
)

// Dir stands, in the values of Env and in Args, for the folder of the version
// that a session uses, as it is seen inside.
const Dir = "{dir}"

// Mount is where the folder of installed agents is seen inside.
const Mount = "/opt/paddock/agents"

// Place is the folder of an installed version as it is seen inside.
func Place(name, version string) string { return path.Join(Mount, name, version) }

// Names lists the agents in the order of the catalogue.
func Names() []string {
	names := make([]string, len(catalogue))
	for i := range catalogue {
		names[i] = catalogue[i].Name
	}
	return names
}

// Find gives the agent that a word means: its name, or another word for it.
func Find(word string) (Agent, bool) {
	word = strings.ToLower(word)
	for _, a := range catalogue {
		if a.Name == word || slices.Contains(a.Aliases, word) {
			return a, true
		}
	}
	return Agent{}, false
}

// OfKind gives the agent that a word of the public protocol means.
func OfKind(kind string) (Agent, bool) {
	i := slices.IndexFunc(catalogue, func(a Agent) bool { return kind != "" && a.Kind == kind })
	if i < 0 {
		return Agent{}, false
	}
	return catalogue[i], true
}

// Link is the name, in the folder of a version, under which the program is found
// whatever the architecture.
func (a Agent) Link() string { return path.Join("bin", a.Name) }

// Installable says whether Paddock can install it.
func (a Agent) Installable() bool { return a.Package != "" }

// Argv is the command line of the version that lies in dir.
func (a Agent) Argv(dir string) []string {
	argv := []string{path.Join(dir, a.Link())}
	switch {
	case !a.Installable():
		argv = []string{a.Command}
	case a.Node:
		argv = append([]string{"node"}, argv...)
	}
	for _, arg := range a.Args {
		argv = append(argv, strings.ReplaceAll(arg, Dir, dir))
	}
	return argv
}

// Environ is its variables for the version that lies in dir.
func (a Agent) Environ(dir string) map[string]string {
	env := make(map[string]string, len(a.Env))
	for name, value := range a.Env {
		env[name] = strings.ReplaceAll(value, Dir, dir)
	}
	return env
}
