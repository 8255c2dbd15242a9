package image

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"paddock/internal/fault"
)

func TestPullSentences(t *testing.T) {
	s, ctx := newImages(t), context.Background()
	host := serveRegistry(t, nil)
	push(t, host+"/team/other:1", imageOf(t, "s390x", tarOf(t, file("a", "a"))))
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: imageOf(t, "s390x", tarOf(t, file("a", "a"))),
		Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}})
	r, _ := name.ParseReference(host + "/team/index:1")
	if err := remote.WriteIndex(r, index); err != nil {
		t.Fatal(err)
	}
	status := func(code int) string {
		return serveRegistry(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) })
		})
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, c := range []struct{ name, ref, want string }{
		{"no reference", "no reference!", "no reference to an image"},
		{"absent", host + "/team/absent:1", "there is no image " + host + "/team/absent:1"},
		{"absent tag", host + "/team/other:2", "there is no image"},
		{"another platform", host + "/team/other:1", "for linux/s390x"},
		{"an index without ours", host + "/team/index:1", "not made for this machine's platform"},
		{"401", status(401) + "/x:1", "needs a login"},
		{"403", status(403) + "/x:1", "needs a login"},
		{"429", status(429) + "/x:1", "limits how much is pulled"},
		{"nobody", closed.Addr().String() + "/x:1", "cannot be reached"},
		{"no name", "registry.invalid/x:1", "cannot be reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Pull(ctx, c.ref, quietly)
			var f *fault.Error
			if !errors.As(err, &f) || !strings.Contains(f.Message, c.want) {
				t.Errorf("got %v, want a sentence with %q", err, c.want)
			}
		})
	}
}

// TestBrokenTransfer: a layer whose transfer breaks is fetched again.
func TestBrokenTransfer(t *testing.T) {
	var broken atomic.Int32
	host := serveRegistry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") && broken.Add(1) == 2 { // the first is the configuration
				w.Header().Set("Content-Length", "100000")
				_, _ = w.Write([]byte("half"))
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	})
	push(t, host+"/team/tool:1", twoLayers(t))
	s := newImages(t)
	if _, err := s.Pull(context.Background(), host+"/team/tool:1", quietly); err != nil || broken.Load() < 4 {
		t.Errorf("%v after %d requests", err, broken.Load())
	}
}

func TestName(t *testing.T) {
	s := newImages(t)
	for ref, want := range map[string]string{
		"debian": "index.docker.io/library/debian:latest", "team/tool:1": "index.docker.io/team/tool:1", "registry.example.com:5000/a/b": "registry.example.com:5000/a/b:latest",
		"/etc": "", "./x": "", "../x": "", "a b": "", "Debian": "", "https://x/y": "", "": "",
	} {
		if got, err := s.Name(ref); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", ref, got, err, want)
		}
	}
}
