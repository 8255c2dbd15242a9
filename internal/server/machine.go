package server

import (
	"net/http"
	"time"
	"unicode/utf8"

	"paddock/internal/engine"
	"paddock/internal/fault"
	"paddock/internal/server/gen"
	"paddock/internal/store"
)

func (e *edge) exec(w http.ResponseWriter, r request) error {
	var want gen.ExecRequest
	if err := readJSON(w, r.Request, maxExec, &want); err != nil {
		return err
	}
	longest := int64(engine.MaxExecTimeout / time.Second)
	switch {
	case len(want.Argv) == 0 || want.Argv[0] == "":
		return fault.New(fault.BadRequest, "argv is empty: name a program and its arguments")
	case want.TimeoutSeconds < 0 || want.TimeoutSeconds > longest:
		return fault.New(fault.BadRequest, "timeout_seconds: %d is not within 1 and %d", want.TimeoutSeconds, longest)
	}
	if err := oneOf("user", want.User, []string{"", "agent", "root"}); err != nil {
		return err
	}
	got, err := e.engine.Exec(r.Context(), r.who.Team, r.PathValue("session"), engine.ExecRequest{
		Argv: want.Argv, Workdir: want.Workdir, Stdin: want.Stdin, User: want.User, Env: want.Env,
		Timeout: time.Duration(want.TimeoutSeconds) * time.Second, Once: once(r, execAnswer),
	})
	if err != nil {
		return err
	}
	writeAnswer(w, execAnswer(got))
	return nil
}

func execAnswer(got engine.ExecResult) store.Answer {
	body := gen.ExecResult{
		ExitCode: got.Code, DurationMS: got.Duration.Milliseconds(), TimedOut: got.TimedOut, Detached: got.Detached,
	}
	body.Stdout, body.StdoutBase64 = asText(got.Stdout)
	body.Stderr, body.StderrBase64 = asText(got.Stderr)
	answer := jsonAnswer(http.StatusOK, body)
	if got.StdoutTruncated {
		answer.Header["X-Exec-Stdout-Truncated"] = "true"
	}
	if got.StderrTruncated {
		answer.Header["X-Exec-Stderr-Truncated"] = "true"
	}
	return answer
}

// asText gives bytes as text; what is not UTF-8 becomes U+FFFD, byte for byte,
// and the bytes go along.
func asText(b []byte) (string, []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return string([]rune(string(b))), b
}

func (e *edge) listFiles(w http.ResponseWriter, r request) error {
	path := r.URL.Query().Get("path")
	if path == "" {
		path = "."
	}
	files, err := e.engine.ListFiles(r.Context(), r.who.Team, r.PathValue("session"), path)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.FileList{Path: path, Files: list(files, fileOnWire)})
	return nil
}
