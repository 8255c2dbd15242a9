// Package named tells which files a tool call is about: their names in full, and
// where links lead, so that a policy decides on the file and not on its name.
package named

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxFiles is how many files of one call are named in full.
const maxFiles = 64

// Files gives names in full (relative ones are below dir) and, where links lead
// elsewhere, that name, too. Of more files than are named, none is known: the
// answer is empty.
func Files(dir string, names []string) (list []string) {
	for _, name := range names {
		if !path.IsAbs(name) {
			name = dir + "/" + name
		}
		list = append(list, path.Clean(name))
		if real := resolve(name); real != path.Clean(name) {
			list = append(list, real)
		}
	}
	if len(list) > maxFiles {
		return nil
	}
	return list
}

// resolve follows the links of a name as far as it exists. Links come before
// the .. that follow them, as in the kernel.
func resolve(name string) string {
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(name)
		if err == nil {
			return path.Join(real, rest)
		}
		parent, last := path.Split(strings.TrimRight(name, "/"))
		if parent == "" || parent == "/" {
			return path.Join("/", last, rest)
		}
		if to, err := os.Readlink(strings.TrimRight(name, "/")); err == nil { // to what does not exist yet
			if !path.IsAbs(to) {
				to = parent + to
			}
			return path.Join(path.Clean(to), rest)
		}
		name, rest = parent, path.Join(last, rest)
	}
}

// Below says whether a path, relative ones to the folder, lies in it as far as
// its text goes.
func Below(folder, name string) bool {
	if !path.IsAbs(name) {
		name = path.Join(folder, name)
	}
	name = path.Clean(name)
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}
