package environment

import "strings"

// suggest gives "; did you mean X?" for the choice nearest to a mistyped word,
// nothing when none is near. Case, '-' and '_' do not count.
func suggest(word string, choices []string) string {
	const longest = 40 // nothing we know is longer; keeps the cost of nonsense small
	if len(word) > longest {
		return ""
	}
	nearest, least := "", len(word)/3+1
	for _, choice := range choices {
		if d := distance(plain(word), plain(choice)); d < least || d == least && nearest == "" {
			nearest, least = choice, d
		}
	}
	if nearest == "" {
		return ""
	}
	return "; did you mean " + nearest + "?"
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
