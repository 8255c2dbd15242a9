package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"paddock/client/gen"
)

// ExecOutcome is how a program went and whether its output is all there.
type ExecOutcome struct {
	ExecResult
	StdoutTruncated bool // there was more than the server keeps (1 MiB)
	StderrTruncated bool
}

// StdoutBytes is the program's output, byte for byte.
func (o ExecOutcome) StdoutBytes() []byte { return exact(o.Stdout, o.StdoutBase64) }

// StderrBytes is the program's error output, byte for byte.
func (o ExecOutcome) StderrBytes() []byte { return exact(o.Stderr, o.StderrBase64) }

func exact(text string, raw []byte) []byte {
	if raw != nil {
		return raw
	}
	return []byte(text)
}

// Exec runs one program in a session's sandbox and returns when it has ended or
// its time is up.
func (c *Client) Exec(ctx context.Context, ref string, request ExecRequest) (ExecOutcome, error) {
	response, err := c.send(ctx, call{method: http.MethodPost, path: []string{"sessions", ref, "sandbox", "exec"}, body: request})
	if err != nil {
		return ExecOutcome{}, err
	}
	result, err := decode[ExecResult](response)
	return ExecOutcome{
		ExecResult:      result,
		StdoutTruncated: response.Header.Get("X-Exec-Stdout-Truncated") == "true",
		StderrTruncated: response.Header.Get("X-Exec-Stderr-Truncated") == "true",
	}, err
}

// Diff says what has changed in a session's repositories since they were cloned,
// with patches or without.
func (c *Client) Diff(ctx context.Context, ref string, patches bool) (SessionDiff, error) {
	return do[SessionDiff](ctx, c, call{
		method: http.MethodGet, path: []string{"sessions", ref, "diff"}, query: values("patch", strconv.FormatBool(patches)),
	})
}

// PatchBytes is a patch as git wrote it.
func PatchBytes(d RepoDiff) []byte {
	if len(d.PatchBase64) > 0 {
		return d.PatchBase64
	}
	return []byte(d.Patch)
}

// ListFiles lists a folder of the workspace by name; the workspace itself when
// path is empty.
func (c *Client) ListFiles(ctx context.Context, ref, path string) ([]File, error) {
	answer, err := do[gen.FileList](ctx, c, call{
		method: http.MethodGet, path: []string{"sessions", ref, "files"}, query: values("path", path),
	})
	return answer.Files, err
}

// ReadFile opens a file of the workspace at offset; length < 0 means to its
// end. The caller closes the reader. A reader that ends early fails with
// io.ErrUnexpectedEOF.
func (c *Client) ReadFile(ctx context.Context, ref, path string, offset, length int64) (io.ReadCloser, error) {
	if length == 0 {
		return http.NoBody, nil
	}
	headers := map[string]string{}
	switch {
	case length > 0:
		headers["Range"] = fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
	case offset > 0:
		headers["Range"] = fmt.Sprintf("bytes=%d-", offset)
	}
	response, err := c.send(ctx, call{
		method: http.MethodGet, path: []string{"sessions", ref, "files", "content"},
		query: values("path", path), headers: headers,
	})
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}
