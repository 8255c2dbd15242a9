package engine

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"paddock/internal/fault"
)

const (
	defaultPage = 50
	maxPage     = 200
)

// pageSize clamps what a caller asked for.
func pageSize(asked int) int {
	if asked <= 0 {
		return defaultPage
	}
	return min(asked, maxPage)
}

// pages makes and reads the tokens of one list's pages. A token holds the id of
// the last element that was given, so what is added meanwhile moves nothing,
// and a digest of the list, so that no token is taken for another list's.
type pages struct{ mark string }

// pagesOf are the pages of the list that these values choose: its name, whose
// it is, its filters.
func pagesOf(list ...any) pages {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", list))
	return pages{base64.RawURLEncoding.EncodeToString(sum[:9]) + "."}
}

// token points behind an element.
func (p pages) token(last fmt.Stringer) string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.mark + last.String()))
}

// last gives the id of the element that a token points behind.
func (p pages) last(token string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	last, ours := strings.CutPrefix(string(text), p.mark)
	if err != nil || !ours || base64.RawURLEncoding.EncodeToString(text) != token { // one spelling: no line breaks, no odd bits
		return "", badPageToken(token)
	}
	return last, nil
}

func badPageToken(token string) error {
	return fault.New(fault.BadRequest, "page_token %.64q is not one that this list gave; ask again without it, or with the same filters", token)
}
