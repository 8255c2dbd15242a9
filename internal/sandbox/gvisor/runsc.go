package gvisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/subcommands"
	"gvisor.dev/gvisor/runsc/cli"
	"gvisor.dev/gvisor/runsc/cmd"
	"gvisor.dev/gvisor/runsc/cmd/sentry/sentrycmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
)

// IsRunsc says whether argv asks this binary to be gVisor's runsc. A program
// that embeds this package must ask before it registers any flag, and call
// RunRunsc when it is so.
//
// gVisor re-executes us as runsc-sandbox, runsc-gofer, runsc-exec,
// runsc[getUsernsFD] and, for two helpers, as plain /proc/self/exe; people say
// `paddock runsc …` or link the binary as runsc.
func IsRunsc(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	name := filepath.Base(argv[0])
	return name == "runsc" || strings.HasPrefix(name, "runsc-") || strings.HasPrefix(name, "runsc[") ||
		argv[0] == "/proc/self/exe" ||
		len(argv) > 1 && argv[1] == "runsc"
}

// RunRunsc is runsc's main, with a command table of our own: upstream's table
// would pull in a 47 MB binary that serves a cloud store. It exits the process.
func RunRunsc() {
	if len(os.Args) > 2 && os.Args[1] == "runsc" && os.Args[2] == driveWord {
		drive(os.Args[3:], os.Stdout)
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "runsc" {
		os.Args = append([]string{"runsc"}, os.Args[2:]...)
	}
	if isOurs(os.Args) {
		dropProtection()
		closeStrays(os.Args)
		sealStdio(os.Args)
		if slices.Contains(os.Args, "boot") {
			useFilters(bundleOf(os.Args))
			os.Args = boundedArgs(os.Args)
		}
	}
	const group = ""
	cli.Run(nil, map[util.SubCommand]string{
		new(sentrycmd.Boot):   group,
		new(sentrycmd.Umount): group,
		new(cmd.Gofer):        group,
		new(cmd.Checkpoint):   group,
		new(cmd.Create):       group,
		new(cmd.Debug):        group,
		new(cmd.Delete):       group,
		new(cmd.Events):       group,
		new(cmd.Exec):         group,
		new(cmd.FSCheckpoint): group,
		new(cmd.Kill):         group,
		new(cmd.List):         group,
		new(cmd.Pause):        group,
		new(cmd.PortForward):  group,
		new(cmd.PS):           group,
		new(cmd.Restore):      group,
		new(cmd.Resume):       group,
		new(cmd.Run):          group,
		new(cmd.Spec):         group,
		new(cmd.Start):        group,
		new(cmd.State):        group,
		new(cmd.Statefile):    group,
		new(cmd.Tar):          group,
		new(cmd.Update):       group,
		new(cmd.Usage):        group,
		new(cmd.Wait):         group,
	}, []subcommands.Command{new(cmd.Platforms)})
}
