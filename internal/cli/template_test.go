package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// People read of the argument that they gave, and not of the API's key for it.
func TestImageThatWillNotDoIsBlamedInWords(t *testing.T) {
	said := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusBadRequest, "bad_request", said)
	}))
	defer server.Close()
	t.Setenv("PADDOCK_URL", server.URL)
	t.Setenv("PADDOCK_TOKEN", "secret")
	for _, c := range []struct{ command, said, want string }{
		{"add Debian:13", `source_oci_ref: "Debian:13" is no reference`, `IMAGE: "Debian:13" is no reference`},
		{"update tools Debian:13", `source_oci_ref: "Debian:13" is no reference`, `IMAGE: "Debian:13" is no reference`},
		{"update tools", "template tools was sent as a file; name the image that it shall have (source_oci_ref)",
			"template tools was sent as a file; name the image that it shall have (IMAGE)"},
		{"add debian:13", "name: will not do", "name: will not do"},
	} {
		said = c.said
		var out, err bytes.Buffer
		code := Main(t.Context(), append([]string{"template"}, strings.Fields(c.command)...), strings.NewReader(""), &out, &err, Hooks{})
		if code != exitUsage && c.said != c.want || code == 0 || !strings.Contains(err.String(), c.want) || strings.Contains(err.String(), "source_oci_ref") {
			t.Errorf("template %s: %d, %q", c.command, code, err.String())
		}
	}
}
