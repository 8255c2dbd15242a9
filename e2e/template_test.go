package e2e

import (
	"archive/tar"
	"context"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// images are the digests of the images that are unpacked on the disk, and what
// else lies there.
func (s *server) images() (digests []string) {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, "images"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		digests = append(digests, e.Name())
	}
	return digests
}

// add has the command line make a template of an image.
func (s *server) add(image, name string) {
	s.t.Helper()
	if out, errs, code := s.cli("template", "add", image, "--name", name); code != 0 {
		s.t.Fatalf("add %s: %d %s%s", image, code, out, errs)
	}
}

// says is what a program of a session's machine says that has to end well.
func (s *server) says(id string, argv ...string) string {
	s.t.Helper()
	code, out, errs := s.exec(id, argv...)
	if code != 0 {
		s.t.Errorf("%v: %d %s%s", argv, code, out, errs)
	}
	return strings.TrimSuffix(out, "\n")
}

// TestTemplates: an image comes in five ways, and a session of each has its files
// with what belongs to them. However often an image comes, it is unpacked once.
func TestTemplates(t *testing.T) {
	tool := buildTool(t)
	img := ociImage(t, tool)
	plain := rootTar(t, tool, "hello")
	address := loopbackRegistry(t, "team/tool:1", img)
	s := startServer(t, "--registry", address, "--pool", "2")
	s.add(writeLayout(t, img), "layout")
	s.add(writeDockerSave(t, img), "saved")
	s.add(address+"/team/tool:1", "pulled")
	if got := s.images(); len(got) != 1 {
		t.Errorf("one image that came in three ways is unpacked as %v", got)
	}
	s.add(writeFile(t, "root.tar", plain), "tar")
	s.add(unpackFolder(t, plain), "folder")
	if got := s.images(); len(got) < 2 || len(got) > 3 {
		t.Errorf("three roots are unpacked as %v", got)
	}

	for _, template := range []string{"layout", "saved", "pulled", "tar", "folder"} {
		sess := s.create("agent: demo\nname: of-" + template + "\ntemplate: " + template + "\nenv: {SHAPE: square}\n")
		id := sess.SessionID
		for _, c := range [][2]string{
			{"cat /etc/motd", "hello"}, {"stat /bin/su", "4755 0:0"}, {"stat /bin/wall", "2755 0:5"}, {"stat /etc/motd", "644 7:8"}, {"stat /workspace", "755 1000:1000"},
			{"env HOME", "/home/agent"}, {"env SHAPE", "square"}, {"attr /bin/ping user.note", "6e"}, {"attr /bin/ping security.capability", hex.EncodeToString([]byte(capNetRaw))},
		} {
			if got := s.says(id, append([]string{"/bin/tool"}, strings.Fields(c[0])...)...); got != c[1] {
				t.Errorf("%s: %s is %q, want %q", template, c[0], got, c[1])
			}
		}
		colour := ""
		if template != "tar" && template != "folder" {
			colour = "blue" // they have an environment
		}
		if got := s.says(id, "tool", "env", "COLOUR"); got != colour {
			t.Errorf("%s: the colour is %q", template, got)
		}
		if code, _, _ := s.exec(id, "/bin/tool", "cat", "/etc/out"); code == 0 {
			t.Errorf("%s: a link leads to a file of the host", template)
		}
		hard, _, _ := s.exec(id, "/bin/tool", "stat", "/bin/hard")
		if gone := hard != 0; gone != (colour != "") {
			t.Errorf("%s: what the second layer takes away is there: %v", template, !gone)
		}
		s.says(id, "/bin/tool", "write", "/workspace/note", template)
		if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 1: ") {
			t.Errorf("%s: the agent said %q", template, got)
		}
	}
	// There is no shell, and that is said.
	if _, errs, code := s.cli("exec", "of-tar", "--", "sh", "-c", "true"); code == 0 || !strings.Contains(errs, `"sh" was not found`) {
		t.Errorf("a shell that is not there: %d %s", code, errs)
	}
	// The image itself is as it was, on the host, capability and all.
	for _, digest := range s.images() {
		root := filepath.Join(s.dir, "images", digest, "root")
		if _, err := os.Stat(filepath.Join(root, "workspace", "note")); err == nil {
			t.Errorf("a session has written into image %s", digest)
		}
		if info, err := os.Lstat(filepath.Join(root, "bin", "su")); err != nil || info.Mode()&os.ModeSetuid == 0 {
			t.Errorf("%s: su is %v, %v", digest, info, err)
		}
	}
}

// TestTemplateCalls: templates by the public client, and what keeps one.
func TestTemplateCalls(t *testing.T) {
	t.Parallel()
	tool := buildTool(t)
	img := ociImage(t, tool)
	address := loopbackRegistry(t, "team/tool:1", img)
	s := startServer(t, "--registry", address)
	agents, ctx := s.client().HostedAgents, context.Background()
	made, _, err := agents.CreateTemplate(ctx, &godo.HostedAgentTemplateCreateRequest{Name: "tools", BaseTemplate: "coding-base", SourceOCIRef: address + "/team/tool:1"})
	if err != nil {
		t.Fatal(err)
	}
	// A session of it may be asked for at once: it waits.
	sess := s.create("agent: none\nname: user\ntemplate: tools\n")
	got, _, err := agents.GetTemplate(ctx, made.TemplateID)
	if err != nil || got.Status != godo.HostedAgentTemplateStatusReady || got.Spec.Image.Registry != address || got.Spec.Image.Tag != "1" {
		t.Errorf("%+v, %v", got, err)
	}
	first := s.images()
	list, _, err := agents.ListTemplates(ctx, nil)
	if err != nil || len(list.Templates) != 1 || list.Templates[0].TemplateID != made.TemplateID {
		t.Errorf("%+v, %v", list, err)
	}
	if _, answer, err := agents.DeleteTemplate(ctx, "tools"); err == nil || answer.StatusCode != http.StatusConflict || !strings.Contains(err.Error(), "session user") {
		t.Errorf("removal while a session lives: %v", err)
	}

	// The tag moves: whoever has the old image keeps it until nobody has.
	pushImage(t, address+"/team/tool:1", addLayer(t, img, makeTar(t, tarEntry{tar.Header{Name: "etc/motd", Mode: 0o644}, "moved"})))
	if _, _, err := agents.UpdateTemplate(ctx, made.TemplateID, &godo.HostedAgentTemplateUpdateRequest{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other image is there", func() bool { return len(s.images()) == 2 })
	if got := s.says(sess.SessionID, "/bin/tool", "cat", "/etc/motd"); got != "hello" {
		t.Errorf("the old session reads %q", got)
	}
	eventually(t, "the template has it", func() bool {
		t, _, err := agents.GetTemplate(ctx, "tools")
		return err == nil && t.Status == godo.HostedAgentTemplateStatusReady
	})
	other := s.create("agent: none\nname: second\ntemplate: tools\n")
	if got := s.says(other.SessionID, "/bin/tool", "cat", "/etc/motd"); got != "moved" {
		t.Errorf("the new session reads %q", got)
	}
	if _, err := agents.DestroySession(ctx, "user"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old image is gone", func() bool {
		now := s.images()
		return len(now) == 1 && now[0] != first[0]
	})

	// An environment keeps it, too.
	if _, err := agents.DestroySession(ctx, "second"); err != nil {
		t.Fatal(err)
	}
	s.waitStatus(other.SessionID, godo.HostedAgentSessionStatusDestroyed)
	if _, answer, err := agents.DeleteTemplate(ctx, "tools"); err == nil || answer.StatusCode != http.StatusConflict || !strings.Contains(err.Error(), "environments second, user") {
		t.Errorf("removal while environments name it: %v", err)
	}
	for _, name := range []string{sess.ConfigID, other.ConfigID} {
		if _, err := agents.DeleteEnvironment(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	gone, _, err := agents.DeleteTemplate(ctx, "tools")
	if err != nil || !gone.Deleted || gone.TemplateID != made.TemplateID {
		t.Errorf("%+v, %v", gone, err)
	}
	eventually(t, "no image is left", func() bool { return len(s.images()) == 0 })
}
