package gvisor

import (
	"path/filepath"
	"slices"
	"testing"

	"gvisor.dev/gvisor/pkg/seccomp"
	"gvisor.dev/gvisor/pkg/sentry/platform"
	"gvisor.dev/gvisor/runsc/boot/filter"
	rules "gvisor.dev/gvisor/runsc/boot/filter/config"
)

// TestFiltersAreUpstreams compares, instruction by instruction, what our
// kernels load with what gVisor would compile at that moment.
func TestFiltersAreUpstreams(t *testing.T) {
	root := t.TempDir()
	if err := writeFilters(root); err != nil {
		t.Fatal(err)
	}
	useFilters(filepath.Join(root, "sbx", bundleFolder))
	systrap, err := platform.Lookup("systrap")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range systrap.PrecompiledSeccompInfo() {
		options := rules.Options{Platform: info, HostFilesystem: true, ControllerFD: 42}
		ours, ok := filter.GetPrecompiled(options.ConfigKey())
		if !ok {
			t.Fatalf("no filter for %s", options.ConfigKey())
		}
		have, err := ours.RenderInstructions(options.Vars())
		if err != nil {
			t.Fatal(err)
		}
		allow, deny := rules.Rules(options)
		program := seccomp.Program{
			RuleSets: []seccomp.RuleSet{{Rules: deny}, {Rules: allow, Action: seccomp.Allow}},
			Options:  rules.SeccompOptions(options),
		}
		want, _, err := program.Build()
		if err != nil {
			t.Fatal(err)
		}
		if len(want) < 100 || !slices.Equal(have, want) {
			t.Errorf("%d instructions of ours are not upstream's %d", len(have), len(want))
		}
	}
}
