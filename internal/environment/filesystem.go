package environment

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// The modes of Filesystem.
const (
	Unrestricted  = "unrestricted" // wherever the agent's user may write
	WorkspaceOnly = "workspace"    // in the workspace, its home and the folders for temporary files
	ReadOnly      = "read-only"    // in the folder for temporary files
)

// Filesystem says where the agent, and all that it starts, may write. The
// sandbox's kernel holds it to that, whatever the agent asks about.
type Filesystem struct {
	Mode string `json:"mode,omitempty"` // empty: unrestricted, as before there were modes
	// AllowWrite are more paths to write in: absolute ones, such below the
	// workspace, or such below the home (~/…).
	AllowWrite []string `json:"allow_write,omitempty"`
}

// Restricts says whether the agent may write less than its user.
func (f Filesystem) Restricts() bool { return f.Mode != "" }

// Writable gives the paths that the mode opens, and those that were asked for,
// in a sandbox with these folders. Only what Restricts has any.
func (f Filesystem) Writable(workspace, home string) (mode, allowed []string) {
	switch f.Mode {
	case WorkspaceOnly:
		mode = []string{workspace, home, "/tmp", "/var/tmp"}
	case ReadOnly:
		mode = []string{"/tmp"}
	default:
		return nil, nil
	}
	for _, name := range f.AllowWrite {
		if rest, ok := strings.CutPrefix(name, "~"); ok {
			name = home + rest
		} else if !path.IsAbs(name) {
			name = path.Join(workspace, name)
		}
		allowed = append(allowed, path.Clean(name))
	}
	return mode, allowed
}

// modes are the words for a mode, with those by which others know it.
var modes = map[string]string{
	Unrestricted: "", WorkspaceOnly: WorkspaceOnly, ReadOnly: ReadOnly,
	"workspace-write": WorkspaceOnly, "workspace_write": WorkspaceOnly, "read_only": ReadOnly, "readonly": ReadOnly,
}

// maxAllowWrite is how many paths allow_write may have. Each is a mount.
const maxAllowWrite = 50

var filesystemFields = fields{
	"mode":        (*parser).filesystemMode,
	"allow_write": (*parser).allowWrite,
	"allowWrite":  (*parser).allowWrite,
}

func (p *parser) filesystemMode(v value) {
	if mode, ok := modes[v.node.Value]; ok {
		p.spec.Permissions.Filesystem.Mode = mode
		return
	}
	p.choice(v, []string{Unrestricted, WorkspaceOnly, ReadOnly})
}

// allowWrite reads allow_write, or its older spelling.
func (p *parser) allowWrite(v value) {
	if twice := p.either("permissions.filesystem.allow_write", "permissions.filesystem.allowWrite"); twice {
		p.fault(v.key, v.path, "allow_write and allowWrite are the same; write only allow_write")
	}
	list := p.texts(v, "[out, /srv/cache]")
	if n := len(list); n > maxAllowWrite {
		p.fault(v.node, v.path, "has %d paths, at most %d are allowed", n, maxAllowWrite)
		return
	}
	for i, name := range list {
		if why := notWritable(name); why != "" {
			p.fault(v.node, fmt.Sprintf("%s[%d]", v.path, i), "%s", why)
		}
	}
	p.spec.Permissions.Filesystem.AllowWrite = list
}

// notWritable says what keeps a path from being one to write in.
func notWritable(name string) string {
	clean := path.Clean(name)
	switch {
	case name == "":
		return "is empty; write a path, such as out or /srv/cache"
	case strings.ContainsAny(name, "*?[{"):
		return fmt.Sprintf("%q looks like a pattern; write a folder, everything in it is meant", clip(name))
	case strings.HasPrefix(name, "~") && name != "~" && !strings.HasPrefix(name, "~/"):
		return fmt.Sprintf("%q is no path of a sandbox; ~/ stands for the agent's home", clip(name))
	case slices.Contains(strings.Split(name, "/"), ".."):
		return fmt.Sprintf("%q must not have .. in it; write where it leads", clip(name))
	case clean == "/":
		return "/ is everything; write mode: unrestricted instead"
	case slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, func(d string) bool { return clean == d || strings.HasPrefix(clean, d+"/") }):
		return fmt.Sprintf("%q is the kernel's, not a folder to write files in", clip(name))
	case len(name) > 4096:
		return fmt.Sprintf("has %d bytes, more than the 4096 that a path can have", len(name))
	}
	return ""
}

// checkFilesystem checks what no key of it says alone. Who lists what may be
// written means that other things may not, so a list that nothing heeds is a
// mistake.
func (p *parser) checkFilesystem() {
	f := p.spec.Permissions.Filesystem
	for _, key := range []string{"permissions.filesystem.allow_write", "permissions.filesystem.allowWrite"} {
		if v, set := p.at[key]; set && !f.Restricts() && len(f.AllowWrite) > 0 {
			p.fault(v.key, v.path, "has no effect with mode: unrestricted, where the agent writes wherever its user may; write mode: workspace or mode: read-only")
		}
	}
}
