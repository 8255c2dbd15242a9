package proc

import (
	"os"
	"path/filepath"
	"strings"
)

// DefaultPath is where programs are sought when an environment has no PATH.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// LookPath finds the program that a shell in dir with this PATH would start for
// name: an executable regular file. It returns "" when there is none.
func LookPath(name, dir, path string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return executable(name)
	}
	for _, folder := range filepath.SplitList(path) {
		if folder == "" {
			folder = "."
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if found := executable(filepath.Join(folder, name)); found != "" {
			return found
		}
	}
	return ""
}

func executable(file string) string {
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return file
	}
	return ""
}
