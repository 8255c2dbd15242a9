package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// didYouMean is the end of a sentence that refuses a word: the known word that
// looks most like it, or all of them when there are few.
func didYouMean(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, distance := "", max(2, len(word)/3)+1
	for _, k := range known {
		if d := edits(strings.ToLower(word), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("; did you mean %q?", best)
	case len(known) == 0:
		return "; there are none here"
	case len(known) <= 8:
		return "; known are " + strings.Join(known, ", ")
	}
	return ""
}

// names lists the keys of a map in order.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// edits counts the characters to insert, delete or replace between two words
// (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
