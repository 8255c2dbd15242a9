package gvisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/sandbox/sandboxtest"
	"paddock/internal/template"
)

// TestHostTemplateFromInside looks at this machine's own system from inside a
// machine, as its root and as its agent: the tools are there, and nothing else.
func TestHostTemplateFromInside(t *testing.T) {
	needSandbox(t)
	if testing.Short() {
		t.Skip("builds the template of this machine")
	}
	canary := "canary-" + randomHex(8)
	for _, folder := range []string{"/root", "/home", "/var", "/var/lib", "/etc", "/tmp", "/usr/local", bench.folder} {
		path := filepath.Join(folder, canary)
		if err := os.WriteFile(path, []byte(canary), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
	}
	if err := os.Chmod(filepath.Join("/usr/local", canary), 0o600); err != nil {
		t.Fatal(err)
	}
	templates, err := template.New(template.Options{
		Dir: filepath.Join(bench.folder, "templates"), Exclude: []string{bench.folder}, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer templates.Close()

	d := mustOpen(t, "runtime")
	d.options.Rootfs = templates
	spec := sandbox.Spec{
		ID: id.New[id.Sandbox]().String(), Session: id.New[id.Session]().String(), Hostname: "inside", Template: template.Host,
		Size: sandbox.Size{Slug: "test", VCPUs: 2, MemoryMB: 1024, Pids: 256},
	}
	handle, err := d.Plan(spec)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Start(t.Context(), handle, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Destroy(t.Context(), handle); err != nil {
			t.Error(err)
		}
	}()
	g := sandboxtest.Accept(t, m)
	for _, uid := range []uint32{0, 1000} {
		for _, look := range []struct{ what, script, want string }{
			// All of /usr would take minutes from here; package template walks it.
			{"the host's files, and setuid ones", `find / -xdev -path /usr -prune -o '(' -name '` + canary + `*' -o -perm /6000 ')' -print 2>/dev/null; true`, ""},
			{"setuid programs", `find /usr/bin /usr/sbin /usr/local/bin /usr/lib/openssh -perm /6000 2>/dev/null; true`, ""},
			{"private files of /usr", `ls /usr/local | grep canary; true`, ""},
			{"the host's devices", `ls /dev/kvm /dev/vda /dev/mem 2>/dev/null; true`, ""},
			{"the kernel", `dmesg 2>/dev/null | grep -c gVisor | sed 's/^[1-9][0-9]*$/yes/'`, "yes"},
			{"the machine's name", `hostname; cat /etc/hostname`, "inside\ninside"},
			{"the machine's id", `test $(wc -c </etc/machine-id) = 33 && echo yes`, "yes"},
			{"a private temporary folder", `f=$(mktemp) && df --output=target $f | tail -1`, "/"},
			{"the memory", `awk '/MemTotal/ {print $2}' /proc/meminfo`, "1048576"},
			{"the CPUs", `nproc`, "2"},
			{"the interfaces", `cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '`, "lo\neth0"},
		} {
			output, code := g.Run(uid, "/bin/sh", "-c", look.script)
			if have := strings.TrimSpace(output); have != look.want || code != 0 {
				t.Errorf("uid %d, %s: %q (%d), want %q", uid, look.what, have, code, look.want)
			}
		}
	}
	if output, code := g.Run(1000, "/bin/sh", "-c", "id -un; id -gn; touch /workspace/x ~agent/x && echo ok"); code != 0 || output != "agent\nagent\nok\n" {
		t.Errorf("the agent: %q (%d)", output, code)
	}
	if output, code := g.Run(0, "/bin/sh", "-c", "touch /usr/bin/new && chown 1000 /usr/bin/new && rm -rf /usr/share/doc && echo ok"); code != 0 {
		t.Errorf("root cannot change its own system: %q", output)
	}
	if _, err := os.Lstat("/usr/bin/new"); err == nil {
		t.Error("a file made inside is on the host")
	}
}
