package redaction

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// shortest is the least length of a form: what is shorter stands in too much
// that is no secret.
const shortest = 6

// forms lists the texts by which a value is known.
func forms(value string) []string {
	seen := map[string]bool{}
	var list []string
	add := func(texts ...string) {
		for _, text := range texts {
			if len(text) >= shortest && !seen[text] {
				seen[text] = true
				list = append(list, text)
			}
		}
	}
	if bare := strings.TrimSpace(value); len(bare) >= shortest {
		value = bare
	}
	add(value, url.QueryEscape(value), url.PathEscape(value))
	if quoted, err := json.Marshal(value); err == nil { // of a document within a text
		add(strings.Trim(string(quoted), `"`))
	}
	add(strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(value))
	for _, line := range strings.Split(value, "\n") {
		if line = strings.TrimSpace(line); keyLine.MatchString(line) {
			add(line)
		}
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		add(base64Forms(value, encoding)...)
	}
	return list
}

// keyLine is a line of a key that has several: it is secret by itself.
var keyLine = regexp.MustCompile(`^[A-Za-z0-9+/=_-]{20,}$`)

// base64Forms lists what of a value's base64 does not depend on what stands before
// and behind it, for each of the three places that it may have in a group of three
// bytes, and the lines that tools break it into.
func base64Forms(value string, encoding *base64.Encoding) (list []string) {
	for before, foreign := range []int{0, 2, 3} { // characters that hold bits of what stands before
		whole := append(make([]byte, before), value...)
		text := encoding.EncodeToString(whole)
		text = text[:len(whole)*8/6]
		if len(text) <= foreign {
			continue
		}
		list = append(list, text[foreign:])
		if before > 0 {
			continue
		}
		for _, width := range []int{64, 76} {
			for rest := text; len(text) > width && len(rest) > 0; rest = rest[min(width, len(rest)):] {
				if line := rest[:min(width, len(rest))]; keyLine.MatchString(line) {
					list = append(list, line)
				}
			}
		}
	}
	return list
}
