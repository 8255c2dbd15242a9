package cli

import (
	"net/http"

	"paddock/client"
	"paddock/client/gen"
)

// diff plays what has changed: nothing is known of quiet, and done is damaged.
func diff(w http.ResponseWriter, r *http.Request) {
	one := client.RepoDiff{Path: "one", URL: "https://example.com/one", Base: "1234"}
	switch r.PathValue("s") {
	case "quiet":
		give(w, client.SessionDiff{Repos: []client.RepoDiff{}})
		return
	case "done":
		one.Files, one.Problem = []gen.FileDiff{}, "is no git repository any more"
		give(w, client.SessionDiff{Repos: []client.RepoDiff{one}})
		return
	}
	one.Files = []gen.FileDiff{{Path: "new", From: "old", Status: "renamed", Additions: 1, Deletions: 2}}
	two := client.RepoDiff{Path: "two", URL: "https://example.com/two", Files: []gen.FileDiff{{Path: "b", Status: "added", Binary: true}}}
	if r.FormValue("patch") == "true" {
		one.Patch, two.PatchBase64 = "--- a/x\n+++ b/x\n", []byte("two's\n")
	}
	give(w, client.SessionDiff{Repos: []client.RepoDiff{one, two}})
}
