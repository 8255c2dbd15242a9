// Package spelling finds the word that somebody probably meant.
package spelling

import "strings"

// longest is more than any word we know has; it keeps the cost of nonsense small.
const longest = 64

// Nearest gives the choice that is nearest to a mistyped word, "" when none is
// near: more than a third of it, and one, would have to change. Case, '-', '_'
// and '.' do not count.
func Nearest(word string, choices []string) string {
	if len(word) > longest {
		return ""
	}
	nearest, least := "", len(word)/3+1
	for _, choice := range choices {
		if d := distance(plain(word), plain(choice)); d < least || d == least && nearest == "" {
			nearest, least = choice, d
		}
	}
	return nearest
}

var plainer = strings.NewReplacer("-", "", "_", "", ".", "")

func plain(word string) string { return plainer.Replace(strings.ToLower(word)) }

// distance is Levenshtein's: the fewest bytes to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances of a's beginning to all beginnings of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
