package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFilesystem(t *testing.T) {
	for text, want := range map[string]struct {
		filesystem    Filesystem
		mode, allowed string // what may be written
	}{
		"{}":                                    {},
		"{mode: unrestricted}":                  {},
		"{mode: unrestricted, allow_write: []}": {filesystem: Filesystem{}},
		"{mode: workspace}":                     {Filesystem{Mode: WorkspaceOnly}, "/w /h /tmp /var/tmp", ""},
		"{mode: workspace-write}":               {Filesystem{Mode: WorkspaceOnly}, "/w /h /tmp /var/tmp", ""},
		"{mode: workspace_write}":               {Filesystem{Mode: WorkspaceOnly}, "/w /h /tmp /var/tmp", ""},
		"{mode: read-only}":                     {Filesystem{Mode: ReadOnly}, "/tmp", ""},
		"{mode: read_only}":                     {Filesystem{Mode: ReadOnly}, "/tmp", ""},
		"{mode: readonly, allowWrite: [out, ./a//b/, /srv/x/, '~', ~/c, 'a b']}": {
			Filesystem{ReadOnly, []string{"out", "./a//b/", "/srv/x/", "~", "~/c", "a b"}}, "/tmp", "/w/out /w/a/b /srv/x /h /h/c /w/a b",
		},
	} {
		spec, warnings, err := Parse([]byte("agent: demo\npermissions: {filesystem: "+text+"}\n"), anyName)
		if err != nil || len(warnings) != 0 {
			t.Errorf("%s: %v %v", text, err, warnings)
			continue
		}
		if len(want.filesystem.AllowWrite) == 0 {
			want.filesystem.AllowWrite = spec.Permissions.Filesystem.AllowWrite
		}
		if diff := cmp.Diff(want.filesystem, spec.Permissions.Filesystem); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		checkMarshal(t, spec)
		mode, allowed := spec.Permissions.Filesystem.Writable("/w", "/h")
		if got := strings.Join(mode, " ") + ";" + strings.Join(allowed, " "); got != want.mode+";"+want.allowed {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestFilesystemFaults(t *testing.T) {
	const unheeded = "has no effect with mode: unrestricted, where the agent writes wherever its user may; write mode: workspace or mode: read-only"
	for text, want := range map[string]string{
		"workspace":                             "permissions.filesystem: wants keys and values such as mode: workspace",
		"{mod: workspace}":                      "permissions.filesystem.mod: unknown key; did you mean mode?",
		"{mode: workspaces}":                    `permissions.filesystem.mode: "workspaces" is none of unrestricted, workspace, read-only; did you mean workspace?`,
		"{mode: }":                              "permissions.filesystem.mode: wants one of unrestricted, workspace, read-only",
		"{mode: [read-only]}":                   "permissions.filesystem.mode: wants one of unrestricted, workspace, read-only",
		"{allow_write: [a]}":                    "permissions.filesystem.allow_write: " + unheeded,
		"{mode: unrestricted, allowWrite: [a]}": "permissions.filesystem.allowWrite: " + unheeded,
		"{mode: workspace, allow_write: a}":     "permissions.filesystem.allow_write: wants a list such as [out, /srv/cache]",
		"{mode: workspace, allow_write: [a], allowWrite: [a]}":               "permissions.filesystem.allowWrite: allow_write and allowWrite are the same; write only allow_write",
		"{mode: workspace, allow_write: ['']}":                               "permissions.filesystem.allow_write[0]: is empty; write a path, such as out or /srv/cache",
		"{mode: workspace, allow_write: [a, 'src/*']}":                       `permissions.filesystem.allow_write[1]: "src/*" looks like a pattern; write a folder, everything in it is meant`,
		"{mode: workspace, allow_write: [../x]}":                             `permissions.filesystem.allow_write[0]: "../x" must not have .. in it; write where it leads`,
		"{mode: workspace, allow_write: [//]}":                               "permissions.filesystem.allow_write[0]: / is everything; write mode: unrestricted instead",
		"{mode: workspace, allow_write: [/proc/self]}":                       `permissions.filesystem.allow_write[0]: "/proc/self" is the kernel's, not a folder to write files in`,
		"{mode: workspace, allow_write: [~root/x]}":                          `permissions.filesystem.allow_write[0]: "~root/x" is no path of a sandbox; ~/ stands for the agent's home`,
		"{mode: workspace, allow_write: [" + strings.Repeat("a,", 51) + "]}": "permissions.filesystem.allow_write: has 51 paths, at most 50 are allowed",
	} {
		_, _, err := Parse([]byte("agent: demo\npermissions: {filesystem: "+text+"}\n"), anyName)
		if err == nil || err.Error() != "line 2: "+want {
			t.Errorf("%s: %v\nwant line 2: %s", text, err, want)
		}
	}
	_, warnings, err := Parse([]byte("agent: none\npermissions: {filesystem: {mode: read-only}}\n"), anyName)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "permissions.filesystem: has no effect with agent: none") {
		t.Errorf("%v %v", warnings, err)
	}
}
