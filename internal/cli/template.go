package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/cli/pack"
	"paddock/internal/plain"
)

// templatesResult is the JSON form of `template list`.
type templatesResult struct {
	Templates []client.Template `json:"templates"`
}

func newTemplate(a *app) *cobra.Command {
	return group("template", groupSessions, "Keep the root file systems that sessions start from",
		newTemplateAdd(a), newTemplateList(a), newTemplateShow(a), newTemplateUpdate(a), newTemplateRemove(a))
}

func newTemplateAdd(a *app) *cobra.Command {
	var name string
	var noWait bool
	cmd := &cobra.Command{
		Use:   "add IMAGE",
		Short: "Add an image of a registry, or one that lies here, as a template",
		Long: `Add an image as a template, which specs name with template: NAME.

IMAGE is a reference such as debian:13, which the server pulls, with the login
that docker of its user has; or a path, which this command reads and sends: an
OCI layout (a folder, or a tar of one), what docker save writes, a tar of a root
file system (with gzip or zstd or without), or a folder that is one. A path begins
with /, . or ~, or ends in .tar, .tgz, .tar.gz or .tar.zst; - is standard input.

Nothing of an image is run, and its user, working folder and entry point mean
nothing here. Its environment is there in sessions, below the spec's.`,
		Example: `  paddock template add debian:13
  paddock template add ./rootfs.tar.zst --name tools
  docker save my-image | paddock template add - --name my-image`,
		Args: exactly("IMAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			t, err := a.addTemplate(cmd, c, args[0], name, a.warn)
			if err == nil && !noWait {
				t, err = a.awaitTemplate(cmd, c, t)
			}
			if err != nil {
				return err
			}
			return a.result(t, func(w io.Writer) { fmt.Fprintf(w, "%s  %s\n", t.Name, templateWord(t)) })
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the template's `name` (default: made of the image's)")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return while the server pulls it")
	return cmd
}

// archiveName is how the names of archives end that lie in the working folder.
var archiveName = regexp.MustCompile(`\.(tar|tgz|tar\.gz|tar\.zst|tzst)$`)

// isPath says whether an image is one that lies on this machine.
func isPath(image string) bool {
	return image == "-" || image != "" && strings.ContainsRune("/.~", rune(image[0])) || archiveName.MatchString(image)
}

var notName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// nameOf makes a template's name of an image's.
func nameOf(image string) string {
	if isPath(image) {
		image = archiveName.ReplaceAllString(filepath.Base(image), "")
	} else {
		image, _, _ = strings.Cut(path.Base(image), "@")
	}
	return strings.Trim(notName.ReplaceAllString(image, "-"), "._-")
}

// warn shows a warning.
func (a *app) warn(text string) { a.note("warning: %s", text) }

// addTemplate sends an image that lies here, or has the server pull one. What is
// left out of a folder goes to warn.
func (a *app) addTemplate(cmd *cobra.Command, c *client.Client, image, name string, warn func(text string)) (client.Template, error) {
	if name = first(name, nameOf(image)); name == "" {
		return client.Template{}, usagef(cmd, "%q makes no name; give one with --name", image)
	}
	if !isPath(image) {
		t, err := c.CreateTemplate(cmd.Context(), name, image)
		return t, blameImage(cmd, err)
	}
	from := io.NopCloser(a.in)
	if image != "-" {
		file, err := home(image)
		if err == nil {
			from, err = pack.Open(file, warn)
		}
		if err != nil {
			return client.Template{}, fmt.Errorf("read image: %w", err)
		}
	}
	defer from.Close()
	spin := a.spin("sending " + image)
	defer spin.stop()
	sent := &metered{from: from, say: func(n int64) { spin.say(fmt.Sprintf("sending %s, %s", image, bytesWord(n))) }}
	t, err := c.ImportTemplate(cmd.Context(), name, sent)
	var refused *client.Error
	if sent.err != nil && !errors.As(err, &refused) {
		err = fmt.Errorf("read image: %w", sent.err)
	}
	return t, err
}

// imageKey is what the API calls the image of a template.
const imageKey = "source_oci_ref"

// blameImage names the argument where the server names its key for an image. Other
// errors stay as they are.
func blameImage(cmd *cobra.Command, err error) error {
	var said *client.Error
	if !errors.As(err, &said) || said.Code != "bad_request" || !strings.Contains(said.Message, imageKey) {
		return err
	}
	return usagef(cmd, "%s", strings.ReplaceAll(said.Message, imageKey, "IMAGE"))
}

// home undoes a ~ that the shell has left.
func home(file string) (string, error) {
	rest, ok := strings.CutPrefix(file, "~/")
	if !ok {
		return file, nil
	}
	dir, err := os.UserHomeDir()
	return filepath.Join(dir, rest), err
}

// metered says how much was read, and keeps what went wrong.
type metered struct {
	from io.Reader
	say  func(n int64)
	n    int64
	err  error
}

// Read reads.
func (m *metered) Read(b []byte) (int, error) {
	n, err := m.from.Read(b)
	m.n += int64(n)
	m.say(m.n)
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}

// templatePause is how often a template that is being built is looked at.
const templatePause = 300 * time.Millisecond

// awaitTemplate waits while the server pulls an image. One that it cannot have is
// an error.
func (a *app) awaitTemplate(cmd *cobra.Command, c *client.Client, t client.Template) (_ client.Template, err error) {
	spin := a.spin("pulling " + t.Source)
	defer spin.stop()
	for t.Status == client.TemplateBuilding {
		if t.Progress != "" {
			spin.say(t.Progress)
		}
		select {
		case <-time.After(templatePause):
		case <-cmd.Context().Done():
			a.note("the server pulls on: 'paddock template show %s' says how far it is.", t.Name)
			return t, context.Cause(cmd.Context())
		}
		if t, err = c.Template(cmd.Context(), t.TemplateID); err != nil {
			return t, err
		}
	}
	if t.Status == client.TemplateFailed {
		return t, exitWith(exitFailed, "template %s has no image: %s\nTry again: paddock template update %s", t.Name, t.Error, t.Name)
	}
	for _, w := range t.Warnings {
		a.warn(w)
	}
	return t, nil
}

// templateWord is how a template is: ready with its size, or why not.
func templateWord(t client.Template) string {
	switch t.Status {
	case client.TemplateReady:
		return "ready, " + bytesWord(t.SizeBytes)
	case client.TemplateFailed:
		return "failed: " + t.Error
	}
	return strings.TrimSpace("building " + t.Progress)
}

// bytesWord is a size for people.
func bytesWord(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size, unit := float64(n), 0
	for size >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if unit == 0 || size >= 100 {
		return fmt.Sprintf("%.0f %s", size, units[unit])
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

func newTemplateList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List templates, newest first",
		Long: `List templates, newest first, with what their files take on the server's disk;
templates with the same image share it. Beside these there is host, a view of the
server's own system.`,
		Example: "  paddock template list",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			list, err := everyPage(func(token string) ([]client.Template, string, error) {
				page, err := c.Templates(cmd.Context(), 0, token)
				return page.Templates, page.NextPageToken, err
			})
			if err != nil {
				return err
			}
			return a.result(templatesResult{list}, func(w io.Writer) { a.templateTable(w, list) })
		},
	}
}

func (a *app) templateTable(w io.Writer, list []client.Template) {
	if len(list) == 0 {
		fmt.Fprintln(w, "There are no templates but host. Add one: paddock template add debian:13")
		return
	}
	rows := make([][]string, len(list))
	for i, t := range list {
		size := "-"
		if t.ImageID != "" {
			size = bytesWord(t.SizeBytes)
		}
		state := strings.ToLower(strings.TrimPrefix(string(t.Status), "TEMPLATE_STATUS_"))
		rows[i] = []string{plain.Line(t.Name), state, size, first(shortDigest(t.ImageID), "-"), plain.Line(first(t.Source, "-")), ago(a.now(), t.UpdatedAt)}
	}
	table(w, []string{"NAME", "STATE", "SIZE", "IMAGE", "SOURCE", "UPDATED"}, rows)
}

func shortDigest(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(12, len(hex))]
}

func newTemplateShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show TEMPLATE",
		Short:   "Show a template",
		Example: "  paddock template show debian-13",
		Args:    exactly("TEMPLATE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			t, err := c.Template(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.result(t, func(w io.Writer) { a.templateFields(w, t) })
		},
	}
}

func (a *app) templateFields(w io.Writer, t client.Template) {
	entries := ""
	if t.ImageID != "" {
		entries = fmt.Sprint(t.Entries)
	}
	fields(w, [2]string{"name", plain.Line(t.Name)}, [2]string{"id", t.TemplateID}, [2]string{"state", plain.Line(templateWord(t))},
		[2]string{"source", plain.Line(t.Source)}, [2]string{"image", t.ImageID}, [2]string{"entries", entries},
		[2]string{"created", ago(a.now(), t.CreatedAt)}, [2]string{"by", t.CreatedBy}, [2]string{"updated", ago(a.now(), t.UpdatedAt)})
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		fmt.Fprintf(w, "env  %s\n", plain.Line(name+"="+t.Env[name]))
	}
	for _, warning := range t.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}

func newTemplateUpdate(a *app) *cobra.Command {
	var noWait bool
	cmd := &cobra.Command{
		Use:   "update TEMPLATE [IMAGE]",
		Short: "Pull a template's image anew, or another one",
		Long: `Pull a template's image anew, for its tag may mean another one by now, or pull
another image. Living sessions keep the one that they have.`,
		Example: "  paddock template update debian-13\n  paddock template update tools registry.example.com/tools:2",
		Args:    between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			image := ""
			if len(args) > 1 {
				if image = args[1]; isPath(image) {
					return usagef(cmd, "%s is a path; a template is made of it once: paddock template add %s --name NAME", image, image)
				}
			}
			t, err := c.UpdateTemplate(cmd.Context(), args[0], image)
			err = blameImage(cmd, err)
			if err == nil && !noWait {
				t, err = a.awaitTemplate(cmd, c, t)
			}
			if err != nil {
				return err
			}
			return a.result(t, func(w io.Writer) { fmt.Fprintf(w, "%s  %s\n", t.Name, templateWord(t)) })
		},
	}
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return while the server pulls it")
	return cmd
}

func newTemplateRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "remove TEMPLATE...",
		Aliases: []string{"rm", "delete"},
		Short:   "Remove templates that nothing uses, and their files",
		Example: "  paddock template remove debian-13",
		Args:    atLeast(1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			refs = slices.Compact(refs)
			for _, ref := range refs {
				if err := c.RemoveTemplate(cmd.Context(), ref); err != nil {
					return err
				}
			}
			return a.result(removedResult{refs}, func(w io.Writer) {
				for _, ref := range refs {
					fmt.Fprintf(w, "template %s is removed\n", ref)
				}
			})
		},
	}
}
