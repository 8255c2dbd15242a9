package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"paddock/internal/spelling"
)

// didYouMean is the end of a sentence that refuses a word: the known word that
// looks most like it, or all of them when there are few.
func didYouMean(word string, known []string) string {
	nearest := spelling.Nearest(word, known)
	switch {
	case nearest != "":
		return fmt.Sprintf("; did you mean %q?", nearest)
	case len(known) == 0:
		return "; there are none here"
	case len(known) <= 8:
		return "; known are " + strings.Join(known, ", ")
	}
	return ""
}

// names lists the keys of a map in order.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
