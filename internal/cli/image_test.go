package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spf13/cobra"

	"paddock/client"
)

// What is left out of a folder is said once, though a folder whose name another
// template has is read anew; and what the server leaves out is said, too.
func TestImageOfASpecWarnsOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		name := filepath.Base(filepath.Dir(r.URL.Path))
		answer := map[string]any{"template": map[string]any{"name": name, "warnings": []string{"the device /dev/null is left out"}}}
		if name == "rootfs" {
			w.WriteHeader(http.StatusConflict)
			answer = map[string]any{"id": "conflict", "message": "there is a template rootfs already"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	image := filepath.Join(t.TempDir(), "rootfs")
	if err := os.Mkdir(image, 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(image, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c, err := client.New(server.URL, "token", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	if _, err := (&specFlags{}).sendImage(cmd, &app{err: &said, out: io.Discard}, c, []byte("agent: demo\nimage: "+image+"\n")); err != nil {
		t.Fatal(err)
	}
	want := "warning: " + image + "/s is left out: it is no file\nwarning: the device /dev/null is left out\n"
	if said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
}

// An image whose name another one has, such as an older one of the same file,
// gets a name of its own, which stays the same for the same image.
func TestImageOfASpecHasANameOfItsOwn(t *testing.T) {
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		name := filepath.Base(filepath.Dir(r.URL.Path))
		names = append(names, name)
		answer := map[string]any{"template": map[string]any{"name": name}}
		if name == "rootfs" {
			w.WriteHeader(http.StatusConflict)
			answer = map[string]any{"id": "conflict", "message": "there is a template rootfs already"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	image := filepath.Join(t.TempDir(), "rootfs.tar")
	if err := os.WriteFile(image, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server.URL, "token", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := &app{err: io.Discard, out: io.Discard}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	text := func() string {
		t.Helper()
		got, err := (&specFlags{}).sendImage(cmd, a, c, []byte("agent: demo\nimage: "+image+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	first, again := text(), text()
	if first != again || !regexp.MustCompile(`^agent: demo\ntemplate: rootfs-[0-9a-f]{12}\n$`).MatchString(first) {
		t.Errorf("%q, then %q", first, again)
	}
	if err := os.WriteFile(image, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if other := text(); other == first {
		t.Errorf("another image has the name of the first: %q", other)
	}
	if len(names) != 6 {
		t.Errorf("it sent %q", names)
	}
}
