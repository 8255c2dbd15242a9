package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// completionCommand adds cobra's command that prints the scripts of the shells
// we test.
func completionCommand(root *cobra.Command) {
	root.SetCompletionCommandGroupID(groupServer)
	root.InitDefaultCompletionCmd("completion")
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	cmd.Short = "Print a script that completes commands, names and paths in your shell"
	cmd.Long = ""
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = onlyHolds
	cmd.Example = "  source <(paddock completion bash)\n  paddock completion fish > ~/.config/fish/completions/paddock.fish"
	for _, shell := range cmd.Commands() {
		shell.Hidden = shell.Name() == "powershell"
		shell.Short = "Print the script for " + shell.Name()
		shell.Example = "  source <(paddock completion " + shell.Name() + ")"
		shell.Args = exactly()
		if shell.Name() == "bash" {
			bashCompletion(shell)
		}
	}
}

// bashCompletion makes the script for bash work by itself.
func bashCompletion(cmd *cobra.Command) {
	cmd.Long = `Print the script for bash. This line completes in the shell where it is typed,
and in ~/.bashrc in every shell to come:

  source <(paddock completion bash)`
	script := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := script(cmd, args); err != nil {
			return err
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), bashWords)
		return err
	}
}

// bashWords stands in for the one function that cobra's script takes from the
// package bash-completion: it finds the words before the cursor. Not bash's own
// COMP_WORDS, which are split at = and :, too.
const bashWords = `
# Without the package bash-completion.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    __paddock_init_completion()
    {
        COMPREPLY=()
        local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT}
        read -ra words <<<"$line"
        [[ $line == *[[:space:]] ]] && words+=("")
        cword=$((${#words[@]} - 1))
        cur=${words[cword]} prev=${words[cword - 1]}
    }
fi
`
