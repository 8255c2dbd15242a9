package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// text is a text of which parts are known only when it comes to be: gap stands
// for any text.
type text []rune

const gap rune = -1

func (t text) known() bool {
	for _, r := range t {
		if r == gap {
			return false
		}
	}
	return true
}

func (t text) String() string {
	return strings.ReplaceAll(string(t), string(utf8.RuneError), "…")
}

// fit says whether a glob fits a text.
type fit int

// The fits, in their order: of two conditions the lesser holds.
const (
	never  fit = iota
	maybe      // it depends on what the gaps come to be
	surely     // whatever they come to be
)

// The bounds of a glob; it is matched while a session waits.
const (
	maxGlob    = 250 // bytes; see places
	maxFolders = 4   // times **/
)

// checkGlob says what is wrong with a glob.
func checkGlob(glob string) error {
	switch {
	case glob == "":
		return fmt.Errorf("is empty, which nothing fits; write * for anything")
	case len(glob) > maxGlob:
		return fmt.Errorf("has %d bytes, at most %d are allowed", len(glob), maxGlob)
	case strings.Count(glob, "**/") > maxFolders:
		return fmt.Errorf("has **/ more than %d times", maxFolders)
	case strings.HasSuffix(glob, `\`) && !strings.HasSuffix(glob, `\\`):
		return fmt.Errorf(`ends with a \ that nothing follows`)
	}
	return nil
}

// glob is a compiled one: what fits any of its forms fits it.
type glob []pattern

func (g glob) fits(t text) fit {
	f := never
	for i := range g {
		if f = max(f, g[i].fits(t)); f == surely {
			break
		}
	}
	return f
}

// plainGlob compiles a glob in which * stands for any text. A space and a star
// at its end also fit nothing, so that "ls *" fits ls.
func plainGlob(from string) glob {
	g := glob{compile(from, anyText, anyRune)}
	if short, ok := strings.CutSuffix(from, " *"); ok {
		g = append(g, compile(short, anyText, anyRune))
	}
	return g
}

// pathGlob compiles a glob of absolute paths, in which * and ? stay within one
// name and ** crosses them. /** at its end also fits the folder, **/ also none.
func pathGlob(from string) (g glob) {
	for _, form := range pathForms([]string{from}) {
		g = append(g, compile(form, inName, oneInName))
	}
	return g
}

// pathForms lists a path glob with and without each part that may stand for
// nothing.
func pathForms(globs []string) (list []string) {
	const some = "\x00/" // a **/ that is decided
	for range maxFolders {
		list = nil
		for _, g := range globs {
			list = append(list, strings.Replace(g, "**/", some, 1))
			if strings.Contains(g, "**/") {
				list = append(list, strings.Replace(g, "**/", "", 1))
			}
		}
		globs = list
	}
	list = nil
	for _, g := range globs {
		g = strings.ReplaceAll(g, some, "**/")
		list = append(list, g)
		if folder, ok := strings.CutSuffix(g, "/**"); ok && folder != "" {
			list = append(list, folder)
		}
	}
	return list
}
