package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"paddock/internal/fault"
)

// checkQuery refuses query parameters that are not known, given twice, or
// malformed.
func checkQuery(r *http.Request, known []string) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.BadRequest, "the query %.64q is malformed", r.URL.RawQuery)
	}
	for _, name := range names(query) {
		given := query[name]
		if !slices.Contains(known, name) {
			return fault.New(fault.BadRequest, "unknown query parameter %.64q%s", name, didYouMean(name, known))
		}
		if len(given) > 1 {
			return fault.New(fault.BadRequest, "query parameter %.64q is given twice", name)
		}
	}
	return nil
}

// readBody reads a request's body: a text of at most limit bytes in UTF-8, as it
// is, not packed. A byte order mark at its beginning is left out.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if packed := strings.Join(r.Header.Values("Content-Encoding"), ", "); packed != "" && !strings.EqualFold(packed, "identity") {
		return nil, fault.New(fault.UnsupportedMediaType, "the body is packed (Content-Encoding: %.64s); send it as it is", packed)
	}
	tooLarge := fault.New(fault.TooLarge, "the body is larger than %d KiB", limit>>10)
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fault.Wrap(err, fault.BadRequest, "the body did not come in time; send it at once")
	case err != nil:
		return nil, fault.Wrap(err, fault.BadRequest, "the body could not be read to its end")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // of bounded; else it would end the call
	if !utf8.Valid(text) {
		return nil, fault.New(fault.BadRequest, "the body is not UTF-8")
	}
	return bytes.TrimPrefix(text, []byte("\uFEFF")), nil
}

// contentType is the media type of a request's body, without parameters. One in
// another charset than UTF-8 is not known here, so it is given with its charset.
func contentType(r *http.Request) string {
	given := r.Header.Get("Content-Type")
	media, parameters, err := mime.ParseMediaType(given)
	charset := parameters["charset"]
	if err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return given
	}
	return media
}

// readJSON reads a body into one of the request types.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64, into any) error {
	text, err := readBody(w, r, limit)
	if err != nil {
		return err
	}
	return decodeBody(r, text, into)
}

// readOptionalJSON is readJSON for calls that need no body.
func readOptionalJSON(w http.ResponseWriter, r *http.Request, into any) error {
	text, err := readBody(w, r, maxBody)
	if err != nil || len(text) == 0 {
		return err
	}
	return decodeBody(r, text, into)
}

func decodeBody(r *http.Request, text []byte, into any) error {
	if media := contentType(r); media != "application/json" {
		return fault.New(fault.UnsupportedMediaType, "the body is %.64q; send it as application/json", media)
	}
	return decodeStrict(text, into)
}

// decodeStrict decodes one JSON object. Unlike encoding/json it refuses unknown
// keys, keys in other letter case, keys given twice, null in a list or map of
// something, and anything that follows. A key that is null is as if left out.
func decodeStrict(text []byte, into any) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return fault.New(fault.BadRequest, "the body is empty; send a JSON object")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil { // also bounds the depth
		return fault.New(fault.BadRequest, "the body is not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if trimmed := bytes.TrimSpace(text); trimmed[0] != '{' {
		return fault.New(fault.BadRequest, "the body is not a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := checkValue(decoder, reflect.TypeOf(into).Elem(), "", true); err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return fault.New(fault.BadRequest, "%s: want %s, got %s", kind.Field, want(kind.Type), kind.Value)
		}
		return fault.New(fault.BadRequest, "the body does not fit: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// checkValue walks over one value of well-formed JSON and checks the keys of
// its objects against type t; nil means that any will do. nullable says whether
// null has a meaning here.
func checkValue(decoder *json.Decoder, t reflect.Type, path string, nullable bool) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("walk json: %w", err)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case nil:
		if t != nil && !nullable {
			return fault.New(fault.BadRequest, "%.64s: want %s, got null", strings.TrimSuffix(path, "."), want(t))
		}
		return nil
	case json.Delim('{'):
		known := fields(t)
		seen := map[string]bool{}
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return fmt.Errorf("walk json: %w", err)
			}
			key := token.(string)
			if seen[key] {
				return fault.New(fault.BadRequest, "key %.64q is given twice", path+key)
			}
			seen[key] = true
			inner, ok := known[key]
			if known != nil && !ok {
				return fault.New(fault.BadRequest, "unknown key %.64q%s", path+key, didYouMean(key, names(known)))
			}
			if known == nil {
				inner = element(t)
			}
			if err := checkValue(decoder, inner, path+key+".", known != nil); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for decoder.More() {
			if err := checkValue(decoder, element(t), path, false); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = decoder.Token() // the closing one
	return err
}

// fields maps the keys of a struct to their types; nil for what is no struct.
func fields(t reflect.Type) map[string]reflect.Type {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	known := map[string]reflect.Type{}
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known[key] = t.Field(i).Type
	}
	return known
}

// element is the type of the values of a list or map, nil where any will do.
func element(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Slice && t.Kind() != reflect.Map || t.Elem().Kind() == reflect.Interface {
		return nil
	}
	return t.Elem()
}

// want says in JSON's words what a Go type takes.
func want(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a base64 string"
		}
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a string"
}

// oneOf refuses a word that is not among the known ones.
func oneOf(key, word string, known []string) error {
	if slices.Contains(known, word) {
		return nil
	}
	known = slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == "" })
	if word == "" {
		return fault.New(fault.BadRequest, "%s is missing; known are %s", key, strings.Join(known, ", "))
	}
	return fault.New(fault.BadRequest, "%s: %.64q is unknown%s", key, word, didYouMean(word, known))
}
