package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"paddock/api"
)

// definition reads api/openapi.yaml.
func definition(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestRoutesAreAsDefined holds the tables of routes against openapi.yaml.
func TestRoutesAreAsDefined(t *testing.T) {
	defined, later := map[string][]string{}, []string{}
	for path, item := range definition(t).Paths.Map() {
		if len(item.Servers) > 0 {
			continue // about the server itself, not below the prefix
		}
		for method, operation := range item.Operations() {
			name := method + " " + path
			if operation.Extensions["x-served"] == false {
				later = append(later, name)
				continue
			}
			query := []string{}
			for _, p := range operation.Parameters {
				if p.Value.In == "query" {
					query = append(query, p.Value.Name)
				}
			}
			slices.Sort(query)
			defined[name] = query
		}
	}
	inCode, laterInCode := map[string][]string{}, []string{"GET /triggers/by-session/{session}"}
	for _, r := range served {
		query := append([]string{}, r.query...)
		slices.Sort(query)
		inCode[r.method+" "+r.path] = query
	}
	for _, r := range unserved {
		laterInCode = append(laterInCode, r.method+" "+r.path)
	}
	slices.Sort(later)
	slices.Sort(laterInCode)
	if diff := cmp.Diff(defined, inCode); diff != "" {
		t.Errorf("served (-openapi.yaml +routes.go)\n%s", diff)
	}
	if diff := cmp.Diff(later, laterInCode); diff != "" {
		t.Errorf("not served (-openapi.yaml +later.go)\n%s", diff)
	}
}

// checked is a transport that holds every answer against openapi.yaml.
type checked struct {
	t     *testing.T
	next  http.RoundTripper
	mux   *http.ServeMux
	doc   *openapi3.T
	count int
}

func newChecked(t *testing.T, next http.RoundTripper) *checked {
	c := &checked{t: t, next: next, mux: http.NewServeMux(), doc: definition(t)}
	for path, item := range c.doc.Paths.Map() {
		for method := range item.Operations() {
			if path == "/triggers/by-session/{session}" {
				continue // see triggersBySession
			}
			c.mux.HandleFunc(method+" "+path, func(http.ResponseWriter, *http.Request) {})
		}
	}
	return c
}

// RoundTrip passes a request on and checks what comes back.
func (c *checked) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") && response.StatusCode != http.StatusNoContent {
		return response, nil
	}
	text := drain(c.t, response)
	c.check(r, response, text)
	return response, nil
}

func (c *checked) check(r *http.Request, response *http.Response, text []byte) {
	c.t.Helper()
	bare := r.Clone(r.Context())
	bare.URL.Path, _ = strings.CutPrefix(r.URL.Path, prefixes[0])
	_, pattern := c.mux.Handler(bare)
	method, path, _ := strings.Cut(pattern, " ")
	item := c.doc.Paths.Find(path)
	if item == nil {
		c.t.Errorf("%s %s is not in openapi.yaml", r.Method, r.URL.Path)
		return
	}
	operation := item.GetOperation(method)
	answer := operation.Responses.Status(response.StatusCode)
	if answer == nil {
		answer = operation.Responses.Default()
	}
	if answer == nil {
		c.t.Errorf("%s: status %d is not in openapi.yaml", pattern, response.StatusCode)
		return
	}
	c.count++
	media := answer.Value.Content.Get("application/json")
	if media == nil {
		if len(text) > 0 {
			c.t.Errorf("%s: %d has a body: %s", pattern, response.StatusCode, text)
		}
		return
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		c.t.Errorf("%s: %v", pattern, err)
		return
	}
	if err := media.Schema.Value.VisitJSON(value, openapi3.MultiErrors()); err != nil {
		c.t.Errorf("%s: the answer %s is not as defined: %v", pattern, text, err)
	}
}
