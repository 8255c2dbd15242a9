package guestapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"paddock/internal/fault"
	"paddock/internal/id"
)

// The requests of Guest's methods on the wire.
type (
	promptCall struct {
		Run    id.Run `json:"run"`
		Prompt Prompt `json:"prompt"`
	}
	cancelCall struct {
		Run id.Run `json:"run"`
	}
	cancelAnswer struct {
		Outcome CancelOutcome `json:"outcome"`
	}
	answerCall struct {
		Key    string `json:"key"`
		Answer Answer `json:"answer"`
	}
	startExecCall struct {
		Exec    id.Exec       `json:"exec"`
		Request ExecRequest   `json:"request"`
		Wait    time.Duration `json:"wait_ns"`
	}
	pollExecCall struct {
		Exec   id.Exec       `json:"exec"`
		Stdout int64         `json:"stdout"`
		Stderr int64         `json:"stderr"`
		Wait   time.Duration `json:"wait_ns"`
	}
	endExecCall struct {
		Exec id.Exec `json:"exec"`
	}
	pathCall struct {
		Path string `json:"path"`
	}
	filesAnswer struct {
		Files []File `json:"files"`
	}
	readCall struct {
		Path   string `json:"path"`
		Offset int64  `json:"offset"`
		Length int64  `json:"length"`
	}
	relieveCall struct {
		Need int64 `json:"need_bytes"`
	}
	relieveAnswer struct {
		Ended int `json:"ended"`
	}
	nothing struct{}
)

const (
	pathConfigure = "/v1/configure"
	pathPrompt    = "/v1/prompt"
	pathCancel    = "/v1/cancel"
	pathAnswer    = "/v1/answer"
	pathStartExec = "/v1/exec/start"
	pathPollExec  = "/v1/exec/poll"
	pathEndExec   = "/v1/exec/end"
	pathListFiles = "/v1/files/list"
	pathReadFile  = "/v1/files/read"
	pathRelieve   = "/v1/relieve"
	pathDrain     = "/v1/drain"

	maxFileLine = 64 << 10 // the line of JSON before the bytes of a file
)

// guestClient implements Guest by calls to the other side.
type guestClient struct{ p *peer }

func (c *guestClient) Configure(ctx context.Context, config Config) error {
	return call(ctx, c.p, pathConfigure, maxRequest, config, nil)
}

func (c *guestClient) Prompt(ctx context.Context, run id.Run, prompt Prompt) error {
	if err := prompt.check(); err != nil {
		return err
	}
	return call(ctx, c.p, pathPrompt, maxRequest, promptCall{run, prompt}, nil)
}

func (p Prompt) check() error {
	if n := len(p.Text) + len(p.SourceRaw); n > MaxPrompt {
		return fault.New(fault.TooLarge, "the prompt is %d bytes long; at most %d are possible", n, MaxPrompt)
	}
	return nil
}

func (c *guestClient) Cancel(ctx context.Context, run id.Run) (CancelOutcome, error) {
	var out cancelAnswer
	if err := call(ctx, c.p, pathCancel, maxRequest, cancelCall{run}, &out); err != nil {
		return "", err
	}
	if out.Outcome != CancelAcked && out.Outcome != CancelNoTurn && out.Outcome != CancelEnded {
		return "", fmt.Errorf("cancel: unknown outcome %q", clip(string(out.Outcome), 64))
	}
	return out.Outcome, nil
}

func (c *guestClient) Answer(ctx context.Context, key string, answer Answer) error {
	return call(ctx, c.p, pathAnswer, maxRequest, answerCall{key, answer}, nil)
}

func (c *guestClient) StartExec(ctx context.Context, exec id.Exec, request ExecRequest, wait time.Duration) (ExecProgress, error) {
	var out ExecProgress
	err := call(ctx, c.p, pathStartExec, maxRequest, startExecCall{exec, request, wait}, &out)
	return out, err
}

func (c *guestClient) PollExec(ctx context.Context, exec id.Exec, stdout, stderr int64, wait time.Duration) (ExecProgress, error) {
	var out ExecProgress
	err := call(ctx, c.p, pathPollExec, maxRequest, pollExecCall{exec, stdout, stderr, wait}, &out)
	return out, err
}

func (c *guestClient) EndExec(ctx context.Context, exec id.Exec) error {
	return call(ctx, c.p, pathEndExec, maxRequest, endExecCall{exec}, nil)
}

func (c *guestClient) ListFiles(ctx context.Context, path string) ([]File, error) {
	var out filesAnswer
	err := call(ctx, c.p, pathListFiles, maxRequest, pathCall{path}, &out)
	return out.Files, err
}

func (c *guestClient) ReadFile(ctx context.Context, path string, offset, length int64) (File, io.ReadCloser, error) {
	resp, err := post(ctx, c.p, pathReadFile, maxRequest, readCall{path, offset, length})
	if err != nil {
		return File{}, nil, err
	}
	r := bufio.NewReaderSize(resp.Body, maxFileLine)
	line, err := r.ReadSlice('\n')
	var file File
	if err == nil {
		err = json.Unmarshal(line, &file)
	}
	if err != nil {
		_ = resp.Body.Close()
		return File{}, nil, fmt.Errorf("read answer of %s: %w", pathReadFile, err)
	}
	return file, fileReader{r, resp.Body}, nil
}

// fileReader gives a file's bytes; a connection lost in the middle is an error,
// never a short file.
type fileReader struct {
	io.Reader
	io.Closer
}

func (c *guestClient) Relieve(ctx context.Context, need int64) (int, error) {
	var out relieveAnswer
	err := call(ctx, c.p, pathRelieve, maxRequest, relieveCall{need}, &out)
	return out.Ended, err
}

func (c *guestClient) Drain(ctx context.Context) error {
	return call(ctx, c.p, pathDrain, maxRequest, nothing{}, nil)
}

// guestRoutes serves a Guest to the other side.
func guestRoutes(g Guest) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+pathConfigure, guestCall(func(ctx context.Context, in Config) (nothing, error) {
		return nothing{}, g.Configure(ctx, in)
	}))
	mux.Handle("POST "+pathPrompt, guestCall(func(ctx context.Context, in promptCall) (nothing, error) {
		if err := in.Prompt.check(); err != nil {
			return nothing{}, err
		}
		return nothing{}, g.Prompt(ctx, in.Run, in.Prompt)
	}))
	mux.Handle("POST "+pathCancel, guestCall(func(ctx context.Context, in cancelCall) (cancelAnswer, error) {
		outcome, err := g.Cancel(ctx, in.Run)
		return cancelAnswer{outcome}, err
	}))
	mux.Handle("POST "+pathAnswer, guestCall(func(ctx context.Context, in answerCall) (nothing, error) {
		return nothing{}, g.Answer(ctx, in.Key, in.Answer)
	}))
	mux.Handle("POST "+pathStartExec, guestCall(func(ctx context.Context, in startExecCall) (ExecProgress, error) {
		return g.StartExec(ctx, in.Exec, in.Request, in.Wait)
	}))
	mux.Handle("POST "+pathPollExec, guestCall(func(ctx context.Context, in pollExecCall) (ExecProgress, error) {
		return g.PollExec(ctx, in.Exec, in.Stdout, in.Stderr, in.Wait)
	}))
	mux.Handle("POST "+pathEndExec, guestCall(func(ctx context.Context, in endExecCall) (nothing, error) {
		return nothing{}, g.EndExec(ctx, in.Exec)
	}))
	mux.Handle("POST "+pathListFiles, guestCall(func(ctx context.Context, in pathCall) (filesAnswer, error) {
		files, err := g.ListFiles(ctx, in.Path)
		return filesAnswer{files}, err
	}))
	mux.Handle("POST "+pathReadFile, serveFile(g))
	mux.Handle("POST "+pathRelieve, guestCall(func(ctx context.Context, in relieveCall) (relieveAnswer, error) {
		ended, err := g.Relieve(ctx, in.Need)
		return relieveAnswer{ended}, err
	}))
	mux.Handle("POST "+pathDrain, guestCall(func(ctx context.Context, _ nothing) (nothing, error) {
		return nothing{}, g.Drain(ctx)
	}))
	return mux
}

// guestCall serves the trusted host: causes go along for its log.
func guestCall[In, Out any](f func(context.Context, In) (Out, error)) http.Handler {
	return handle(maxRequest, true, f)
}

func serveFile(g Guest) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in readCall
		if err := decode(r.Body, maxRequest, &in); err != nil {
			writeFault(w, err, true)
			return
		}
		file, content, err := g.ReadFile(r.Context(), in.Path, in.Offset, in.Length)
		if err != nil {
			writeFault(w, err, true)
			return
		}
		defer content.Close()
		line, err := encode(file)
		if err == nil && len(line) >= maxFileLine {
			err = fault.New(fault.TooLarge, "the file's name is too long")
		}
		if err != nil {
			writeFault(w, err, true)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		if _, err := w.Write(append(line, '\n')); err != nil {
			return
		}
		if _, err := io.Copy(w, content); err != nil {
			panic(http.ErrAbortHandler) // the only way to tell the caller that this is not the end
		}
	}
}
