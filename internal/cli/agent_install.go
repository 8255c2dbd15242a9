package cli

import (
	"fmt"
	"io"
	"os/exec"

	"github.com/spf13/cobra"

	"paddock/internal/agents"
	"paddock/internal/agents/installed"
)

// installResult is the JSON form of `agent install`.
type installResult struct {
	Folder    string             `json:"folder"`
	Installed []installedVersion `json:"installed"`
}

type installedVersion struct {
	Agent   string `json:"agent"`
	Version string `json:"version"`
}

func newAgentInstall(a *app) *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:   "install AGENT[@VERSION]...",
		Short: "Install agents for sessions, from npm",
		Long: `Install agents for sessions, from npm: the version that this Paddock was tried with,
or the one that is named. New sessions get it from then on, also of a server that
runs; older sessions stay with the version that they have.

It lands in the agents folder of this machine's server as a whole or not at all.
Programs of the package are not run while it is installed.`,
		Example: `  paddock agent install codex
  paddock agent install claude-code@2.1.332 opencode
  paddock agent install copilot --agents /srv/agents`,
		Args: atLeast(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			wanted := make([]agents.Agent, len(names))
			versions := make([]string, len(names))
			for i, name := range names {
				var err error
				if wanted[i], versions[i], err = agentNamed(name); err != nil {
					return err
				}
			}
			folder, err := a.agentsHere(cmd, flags)
			if err != nil {
				return err
			}
			result := installResult{Folder: folder.Dir(), Installed: []installedVersion{}}
			for i, agent := range wanted {
				version, err := a.install(cmd, folder, agent, versions[i])
				if err != nil {
					return err
				}
				result.Installed = append(result.Installed, installedVersion{agent.Name, version})
			}
			return a.result(result, func(w io.Writer) {
				for _, one := range result.Installed {
					fmt.Fprintf(w, "%s %s is installed. Try it: paddock launch --agent %s\n", one.Agent, one.Version, one.Agent)
				}
			})
		},
	}
	flags.register(cmd)
	return cmd
}

// install installs one agent and shows how far it is.
func (a *app) install(cmd *cobra.Command, folder installed.Folder, agent agents.Agent, version string) (string, error) {
	what := "installing " + agent.Name + " " + first(version, agent.Version)
	s := a.spin(what)
	version, err := folder.Install(cmd.Context(), agent, version, func(text string) { s.say(what + ", " + text) })
	s.stop()
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath("node"); err != nil && agent.Node {
		a.note("warning: %s needs Node.js, which is not on this machine; sessions have it from here, or from their template", agent.Name)
	}
	return version, nil
}

func newAgentRemove(a *app) *cobra.Command {
	var flags agentFlags
	var force bool
	cmd := &cobra.Command{
		Use:     "remove AGENT[@VERSION]...",
		Aliases: []string{"rm", "delete"},
		Short:   "Remove installed agents that no living session uses",
		Long: `Remove installed agents. The server does it, since it knows which versions living
sessions use: such a one stays. Without a server --force removes it from the folder.`,
		Example: "  paddock agent remove codex\n  paddock agent remove claude-code@2.1.332",
		Args:    atLeast(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			result := removedResult{Removed: []string{}}
			for _, name := range names {
				agent, version, err := agentNamed(name)
				if err != nil {
					return err
				}
				if version, err = a.uninstall(cmd, flags, agent, version, force); err != nil {
					return err
				}
				result.Removed = append(result.Removed, agent.Name+"@"+version)
			}
			return a.result(result, func(w io.Writer) {
				for _, one := range result.Removed {
					fmt.Fprintf(w, "agent %s is removed\n", one)
				}
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "remove it from the folder, whatever uses it; the files vanish below running agents")
	return cmd
}

// uninstall removes one version, the only one unless one is named.
func (a *app) uninstall(cmd *cobra.Command, flags agentFlags, agent agents.Agent, version string, force bool) (string, error) {
	list, err := a.knownAgents(cmd, flags)
	if err != nil {
		return "", err
	}
	var have []string
	for _, one := range list.Agents {
		for _, v := range one.Installed {
			if one.Name == agent.Name {
				have = append(have, v.Version)
			}
		}
	}
	switch {
	case len(have) == 0:
		return "", exitWith(exitNotFound, "agent %s is not installed", agent.Name)
	case version == "" && len(have) > 1:
		return "", usagef(cmd, "several versions of %s are installed; name one, such as %s@%s", agent.Name, agent.Name, have[len(have)-1])
	case version == "":
		version = have[0]
	}
	if force {
		return version, installed.At(list.Folder).Remove(agent.Name, version)
	}
	if flags.named() != "" {
		return "", usagef(cmd, "of a folder that is named only --force removes: which sessions use it, the server knows")
	}
	c, err := a.dial(cmd)
	if err != nil {
		return "", err
	}
	return version, c.RemoveAgent(cmd.Context(), agent.Name, version)
}
