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
	"reflect"
	"slices"
	"strings"
	"time"

	"paddock/internal/fault"
)

// Limits of request bodies, in bytes.
const (
	maxSpec  = 1 << 20
	maxBody  = 1 << 20 // where nothing else is said
	maxInput = 8 << 20 // text and native frame
	maxExec  = 8 << 20 // standard input included, in base64
)

// bodyTimeout is how long a caller may take to send a body.
const bodyTimeout = time.Minute

// checkQuery refuses query parameters that are not known, given twice, or
// malformed.
func checkQuery(r *http.Request, known []string) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.BadRequest, "the query %.64q is malformed", r.URL.RawQuery)
	}
	for name, given := range query {
		if !slices.Contains(known, name) {
			return fault.New(fault.BadRequest, "unknown query parameter %.64q%s", name, didYouMean(name, known))
		}
		if len(given) > 1 {
			return fault.New(fault.BadRequest, "query parameter %.64q is given twice", name)
		}
	}
	return nil
}

// readBody reads a request's body of at most limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	_ = control.SetReadDeadline(time.Time{}) // else it would end the call
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fault.New(fault.TooLarge, "the body is larger than %d KiB", limit>>10)
	case err != nil:
		return nil, fault.Wrap(err, fault.BadRequest, "the body could not be read to its end")
	}
	return text, nil
}

// contentType is the media type of a request's body, without parameters.
func contentType(r *http.Request) string {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return r.Header.Get("Content-Type")
	}
	return media
}

// readJSON reads a body into one of the request types.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64, into any) error {
	text, err := readBody(w, r, limit)
	if err != nil {
		return err
	}
	if media := contentType(r); media != "application/json" {
		return fault.New(fault.UnsupportedMediaType, "the body is %.64q; send it as application/json", media)
	}
	return decodeStrict(text, into)
}

// readOptionalJSON is readJSON for calls that need no body.
func readOptionalJSON(w http.ResponseWriter, r *http.Request, into any) error {
	if r.ContentLength == 0 {
		return nil
	}
	return readJSON(w, r, maxBody, into)
}

// decodeStrict decodes one JSON object. Unlike encoding/json it refuses unknown
// keys, keys in other letter case, keys given twice, and anything that follows.
func decodeStrict(text []byte, into any) error {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil { // also bounds the depth
		return fault.New(fault.BadRequest, "the body is not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if trimmed := bytes.TrimSpace(text); trimmed[0] != '{' {
		return fault.New(fault.BadRequest, "the body is not a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := checkValue(decoder, reflect.TypeOf(into).Elem(), ""); err != nil {
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
// its objects against type t; nil means that any will do.
func checkValue(decoder *json.Decoder, t reflect.Type, path string) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("walk json: %w", err)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
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
			if err := checkValue(decoder, inner, path+key+"."); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for decoder.More() {
			if err := checkValue(decoder, element(t), path); err != nil {
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

// element is the type of a list's elements, nil for what is no list.
func element(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Slice {
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
