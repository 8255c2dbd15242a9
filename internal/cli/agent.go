package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/agents"
	"paddock/internal/agents/installed"
	"paddock/internal/clientcontext"
	"paddock/internal/spelling"
)

func newAgent(a *app) *cobra.Command {
	return group("agent", groupServer, "Install the agents that sessions run",
		newAgentList(a), newAgentInstall(a), newAgentRemove(a))
}

// agentFlags say which folder of installed agents is meant.
type agentFlags struct{ folder, data string }

func (s *agentFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.folder, "agents", "", "`folder` of installed agents, as of serve")
	f.StringVar(&s.data, "data-dir", "", "`folder` of a server, whose agents are meant")
	cmd.MarkFlagsMutuallyExclusive("agents", "data-dir")
}

// named gives the folder that flags name, "" when they name none.
func (s *agentFlags) named() string {
	if s.data != "" {
		return agentsFolder(s.data)
	}
	return s.folder
}

// serverPause is how long a server may take to say what it has installed.
const serverPause = 5 * time.Second

// agentsOfServer asks the server what it knows, with a client for more; a nil
// client means that no server answers.
func (a *app) agentsOfServer(cmd *cobra.Command) (list client.AgentList, c *client.Client, err error) {
	if c, err = a.dial(cmd); err != nil {
		return list, nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), serverPause)
	defer cancel()
	list, err = c.Agents(ctx)
	var said *client.Error
	if err != nil && !errors.As(err, &said) && cmd.Context().Err() == nil {
		return list, nil, nil
	}
	return list, c, err
}

// agentsHere gives the folder that flags or the server name, and else that of a
// server which is told nothing.
func (a *app) agentsHere(cmd *cobra.Command, flags agentFlags) (installed.Folder, error) {
	dir := flags.named()
	if dir == "" {
		dir = agentsFolder(a.dataHere())
		if list, c, err := a.agentsOfServer(cmd); err == nil && c != nil {
			if !local(a.server.URL) {
				return installed.Folder{}, exitWith(exitFailed, "the server at %s is on another machine: install agents there, or name a folder of this one with --agents", a.server.URL)
			}
			dir = list.Folder
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return installed.Folder{}, fmt.Errorf("find agents folder: %w", err)
	}
	return installed.At(dir), nil
}

// dataHere is the data folder of the server that is meant: where the named
// context lies if a server keeps that there, else the usual one.
func (a *app) dataHere() string {
	file := first(a.contextFile, a.getenv("PADDOCK_CONTEXT"))
	if kept, err := clientcontext.KeptByServer(file); file == "" || err != nil || !kept || filepath.Base(file) != clientcontext.FileName {
		return clientcontext.Here().DataDir
	}
	return filepath.Dir(file)
}

// agentsIn is what a folder holds, in the server's words.
func agentsIn(folder installed.Folder) (client.AgentList, error) {
	list := client.AgentList{Folder: folder.Dir()}
	found, err := folder.List()
	if err != nil {
		return list, err
	}
	for _, name := range agents.Names() {
		a, _ := agents.Find(name)
		one := client.Agent{
			Name: a.Name, Title: a.Title, Adapter: a.Adapter, AgentKind: first(a.Kind, "AGENT_KIND_CUSTOM"), Package: a.Package,
			DefaultVersion: a.Version, Obtain: a.Obtain, Mediation: string(a.Mediation), NeedsNode: a.Node, Installed: []client.InstalledAgent{},
		}
		for _, i := range found {
			if i.Name == name {
				one.Installed = append(one.Installed, client.InstalledAgent{Version: i.Version, Current: i.Current})
			}
		}
		list.Agents = append(list.Agents, one)
	}
	return list, nil
}

// agentsResult is the JSON form of `agent list`.
type agentsResult struct {
	Folder string       `json:"folder"`
	Agents []foundAgent `json:"agents"`
}

// foundAgent is an agent, and its program in the PATH of whoever asks.
type foundAgent struct {
	client.Agent
	Found string `json:"found,omitempty"`
}

func newAgentList(a *app) *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the agents that are known by name, and which are installed",
		Long: `List the agents that are known by name: which versions are installed for sessions, *
before the one that new sessions get, and where a program of that name is in your
PATH. Sessions do not use that one; those agents that no version is installed of
and that are no npm packages must be in /usr/local/bin or /usr/bin, or in a template.

Without a server it lists what is installed in the folder of a server to come.`,
		Example: "  paddock agent list\n  paddock agent list -o json",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.knownAgents(cmd, flags)
			if err != nil {
				return err
			}
			result := agentsResult{list.Folder, make([]foundAgent, len(list.Agents))}
			for i, one := range list.Agents {
				result.Agents[i] = foundAgent{one, inPath(one.Name)}
			}
			return a.result(result, func(w io.Writer) { agentTable(w, result) })
		},
	}
	flags.register(cmd)
	return cmd
}

// knownAgents asks the server, or looks into the folder that flags name or that
// a server to come will use.
func (a *app) knownAgents(cmd *cobra.Command, flags agentFlags) (client.AgentList, error) {
	if flags.named() == "" {
		if list, c, err := a.agentsOfServer(cmd); err != nil || c != nil {
			return list, err
		}
		a.note("no server answers at %s; this is what is installed in %s", a.server.URL, agentsFolder(a.dataHere()))
	}
	folder, err := a.agentsHere(cmd, flags)
	if err != nil {
		return client.AgentList{}, err
	}
	return agentsIn(folder)
}

// inPath gives the program of an agent that people have, "" when they have none.
func inPath(name string) string {
	known, ok := agents.Find(name)
	if !ok {
		return "" // of a newer server
	}
	path, err := exec.LookPath(known.Command)
	if err != nil {
		return ""
	}
	return path
}

func agentTable(w io.Writer, result agentsResult) {
	rows := make([][]string, len(result.Agents))
	for i, one := range result.Agents {
		var versions []string
		for _, v := range one.Installed {
			text := v.Version
			if v.Current && len(one.Installed) > 1 {
				text = "*" + text
			}
			if v.Sessions > 0 {
				text += " (" + count(v.Sessions, "session") + ")"
			}
			versions = append(versions, text)
		}
		rows[i] = []string{one.Name, one.Title, first(strings.Join(versions, ", "), "-"), first(one.DefaultVersion, "not on npm"), one.Mediation, first(one.Found, "-")}
	}
	table(w, []string{"AGENT", "TITLE", "INSTALLED", "DEFAULT", "POLICY SEES", "IN YOUR PATH"}, rows)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// agentNamed finds a known agent by NAME or NAME@VERSION.
func agentNamed(text string) (agent agents.Agent, version string, err error) {
	name, version, _ := strings.Cut(text, "@")
	agent, known := agents.Find(name)
	if known && version == "" && strings.HasSuffix(text, "@") {
		return agent, "", exitWith(exitFailed, "%q names no version; write one such as %s@%s, or %s alone", text, name, first(agent.Version, "1.0.0"), name)
	}
	if known {
		return agent, version, nil
	}
	hint := "; known are " + strings.Join(agents.Names(), ", ")
	if near := spelling.Nearest(name, agents.Names()); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return agent, "", exitWith(exitNotFound, "there is no agent %q%s", name, hint)
}
