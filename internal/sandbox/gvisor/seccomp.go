package gvisor

import (
	"encoding/gob"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	_ "unsafe" // for go:linkname

	"gvisor.dev/gvisor/pkg/seccomp"
	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/pkg/sentry/platform"
	"gvisor.dev/gvisor/runsc/boot/filter"
	rules "gvisor.dev/gvisor/runsc/boot/filter/config"
)

// A machine's kernel confines itself by a system call filter. Upstream builds
// with Bazel compile it at build time; the Go module has an empty table instead
// and compiles it at each start, which takes a quarter of it. We fill the table:
// the driver compiles upstream's own rules once, when it is made, and each
// kernel process reads the outcome before gVisor's main runs. Without it, and
// for other settings than ours, gVisor compiles as it would.

//go:linkname precompiledPrograms gvisor.dev/gvisor/runsc/boot/filter.precompiledPrograms
var precompiledPrograms map[string]precompiledseccomp.Program

//go:linkname upstreamRules gvisor.dev/gvisor/runsc/boot/filter/config.rules
func upstreamRules(options rules.Options, vars precompiledseccomp.Values) (allow, deny seccomp.SyscallRules)

// filterFile keeps the compiled filters in the folder of all machines.
const filterFile = "seccomp"

// compileFilters compiles the filters of our machines' kernels.
func compileFilters() ([]precompiledseccomp.Program, error) {
	systrap, err := platform.Lookup("systrap")
	if err != nil {
		return nil, fmt.Errorf("find platform: %w", err)
	}
	var programs []precompiledseccomp.Program
	for _, info := range systrap.PrecompiledSeccompInfo() {
		options := rules.Options{Platform: info, HostFilesystem: true} // directfs, as in runscConfig
		names := slices.Collect(maps.Keys(options.Vars()))
		program, err := precompiledseccomp.Precompile(options.ConfigKey(), names, func(vars precompiledseccomp.Values) *seccomp.Program {
			allow, deny := upstreamRules(options, vars)
			return &seccomp.Program{
				RuleSets: []seccomp.RuleSet{{Rules: deny.Copy()}, {Rules: allow.Copy(), Action: seccomp.Allow}},
				Options:  rules.SeccompOptions(options),
			}
		})
		if err != nil {
			return nil, fmt.Errorf("compile system call filter: %w", err)
		}
		programs = append(programs, program)
	}
	return programs, nil
}

// writeFilters compiles the filters and leaves them where the kernels of
// machines below root find them.
func writeFilters(root string) error {
	programs, err := compileFilters()
	if err != nil {
		return err
	}
	path := filepath.Join(root, filterFile)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write system call filter: %w", err)
	}
	defer file.Close()
	if err := gob.NewEncoder(file).Encode(programs); err != nil {
		return fmt.Errorf("write system call filter: %w", err)
	}
	return os.Rename(file.Name(), path)
}

// useFilters fills gVisor's table in the kernel process of the machine with
// that bundle.
func useFilters(bundle string) {
	file, err := os.Open(filepath.Join(filepath.Dir(filepath.Dir(bundle)), filterFile))
	if err != nil {
		return
	}
	defer file.Close()
	var programs []precompiledseccomp.Program
	if gob.NewDecoder(file).Decode(&programs) != nil {
		return
	}
	filter.ListPrecompiled() // makes the table, once
	for _, program := range programs {
		precompiledPrograms[program.Name] = program
	}
}
