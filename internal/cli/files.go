package cli

import (
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/plain"
)

// filesResult is the JSON form of `files ls`.
type filesResult struct {
	Path  string        `json:"path"`
	Files []client.File `json:"files"`
}

// contentResult is the JSON form of `files cat`: one of its texts is set.
type contentResult struct {
	Path    string `json:"path"`
	Content string `json:"content,omitempty"`
	Base64  []byte `json:"content_base64,omitempty"` // when it is not UTF-8
}

func newFiles(a *app) *cobra.Command {
	return group("files", groupMachine, "List and read files of the workspace", newFilesList(a), newFilesCat(a))
}

func newFilesList(a *app) *cobra.Command {
	var long bool
	cmd := &cobra.Command{
		Use:     "ls SESSION [PATH]",
		Aliases: []string{"list"},
		Short:   "List a folder of the workspace",
		Example: `  paddock files ls hello
  paddock files ls hello src -l`,
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) == 2 {
				path = args[1]
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			files, err := c.ListFiles(cmd.Context(), args[0], path)
			if err != nil {
				return err
			}
			if files == nil {
				files = []client.File{}
			}
			return a.result(filesResult{path, files}, func(w io.Writer) { fileTable(w, files, long) })
		},
	}
	cmd.Flags().BoolVarP(&long, "long", "l", false, "with mode, size, time and where links point")
	return cmd
}

// fileTable prints entries: their names alone, or all that is known of them.
func fileTable(w io.Writer, files []client.File, long bool) {
	rows := make([][]string, len(files))
	for i, f := range files {
		name := plain.Line(f.Name)
		switch f.Type {
		case "dir":
			name += "/"
		case "symlink":
			if !long {
				break
			}
			name += " -> " + plain.Line(f.Target)
		}
		if !long {
			rows[i] = []string{name}
			continue
		}
		rows[i] = []string{f.Mode, strconv.FormatInt(f.Size, 10), f.ModTime.Local().Format("2006-01-02 15:04"), name}
	}
	switch {
	case len(rows) == 0:
		fmt.Fprintln(w, "The folder is empty.")
		return
	case !long:
		for _, row := range rows {
			fmt.Fprintln(w, row[0])
		}
		return
	}
	table(w, []string{"MODE", "SIZE", "MODIFIED", "NAME"}, rows)
}

func newFilesCat(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "cat SESSION PATH",
		Short:   "Print a file of the workspace, byte for byte",
		Example: "  paddock files cat hello notes.txt",
		Args:    exactly("SESSION", "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			file, err := c.ReadFile(cmd.Context(), args[0], args[1], 0, -1)
			if err != nil {
				return err
			}
			defer file.Close()
			if !a.json() {
				if _, err := io.Copy(a.out, file); err != nil {
					return fmt.Errorf("read %s: %w", args[1], err)
				}
				return nil
			}
			b, err := io.ReadAll(file)
			if err != nil {
				return fmt.Errorf("read %s: %w", args[1], err)
			}
			r := contentResult{Path: args[1]}
			if utf8.Valid(b) {
				r.Content = string(b)
			} else {
				r.Base64 = b
			}
			return a.result(r, nil)
		},
	}
}
