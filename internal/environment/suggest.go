package environment

import "paddock/internal/spelling"

// suggest gives "; did you mean X?" for the choice nearest to a mistyped word,
// nothing when none is near.
func suggest(word string, choices []string) string {
	nearest := spelling.Nearest(word, choices)
	if nearest == "" {
		return ""
	}
	return "; did you mean " + nearest + "?"
}
