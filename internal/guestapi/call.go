package guestapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"paddock/internal/fault"
)

// Every call is a POST of one JSON document. 200 answers with one JSON document
// (or, for readFile, a line of JSON and then bytes); 400 answers with a
// wireFault; any other status means that the two sides do not understand each
// other.

const (
	maxRequest = MaxExecRequest // body of one request from the host
	maxAnswer  = 16 << 20       // body of one JSON answer
	maxFault   = 64 << 10       // body of one wireFault
	maxMessage = 4 << 10        // its sentence
)

// wireFault is a fault on its way to the caller.
type wireFault struct {
	Code       fault.Code    `json:"code"`
	Message    string        `json:"message"`
	Cause      string        `json:"cause,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
}

var knownCodes = map[fault.Code]bool{
	fault.BadRequest: true, fault.Unauthorized: true, fault.PaymentRequired: true, fault.Forbidden: true,
	fault.NotFound: true, fault.Conflict: true, fault.TooLarge: true, fault.UnsupportedMediaType: true,
	fault.Unprocessable: true, fault.TooManyRequests: true, fault.Internal: true, fault.NotSupported: true,
	fault.BadGateway: true, fault.Unavailable: true, fault.NoSpace: true,
}

// fault turns what came over the wire, which is untrusted, into a fault.
func (w wireFault) fault() *fault.Error {
	f := &fault.Error{Code: w.Code, Message: clip(w.Message, maxMessage), RetryAfter: max(0, w.RetryAfter)}
	if !knownCodes[f.Code] {
		f.Code = fault.Internal
	}
	if w.Cause != "" {
		f.Cause = errors.New(clip(w.Cause, maxMessage))
	}
	return f
}

// clip cuts s to at most n bytes of valid UTF-8.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// encode gives v as JSON without HTML escapes, so that texts keep their size.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// post sends one request and returns the answer when its status is 200; the
// caller closes its body.
func post(ctx context.Context, p *peer, path string, limit int, in any) (*http.Response, error) {
	body, err := encode(in)
	if err != nil {
		return nil, fmt.Errorf("encode %s request: %w", path, err)
	}
	if len(body) > limit {
		return nil, fault.New(fault.TooLarge, "the request is %d bytes long; at most %d are possible", len(body), limit)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://peer"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make %s request: %w", path, err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", path, err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp, nil
	case http.StatusBadRequest:
		defer resp.Body.Close()
		var w wireFault
		if err := decode(resp.Body, maxFault, &w); err != nil {
			return nil, fmt.Errorf("read fault of %s: %w", path, err)
		}
		return nil, w.fault()
	default:
		_ = resp.Body.Close()
		return nil, fmt.Errorf("call %s: unexpected status %d", path, resp.StatusCode)
	}
}

// call sends one request and reads the JSON answer into out (nil: there is none).
func call(ctx context.Context, p *peer, path string, limit int, in, out any) error {
	resp, err := post(ctx, p, path, limit, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		out = &struct{}{}
	}
	if err := decode(resp.Body, maxAnswer, out); err != nil {
		return fmt.Errorf("read answer of %s: %w", path, err)
	}
	return nil
}

// decode reads r to its end, at most limit bytes of it, as one JSON document.
func decode(r io.Reader, limit int64, v any) error {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return err
	}
	if int64(len(b)) > limit {
		return fault.New(fault.TooLarge, "the message is longer than %d bytes", limit)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fault.Wrap(err, fault.BadRequest, "the message is not what was expected")
	}
	return nil
}

// handle serves one call: it decodes a request of at most limit bytes, calls f
// and encodes what it returns. Causes go along only where reveal says so.
func handle[In, Out any](limit int64, reveal bool, f func(context.Context, In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := decode(r.Body, limit, &in); err != nil {
			writeFault(w, err, reveal)
			return
		}
		out, err := f(r.Context(), in)
		if err != nil {
			writeFault(w, err, reveal)
			return
		}
		body, err := encode(out)
		if err == nil && len(body) > maxAnswer {
			err = fault.New(fault.TooLarge, "the answer is %d bytes long; at most %d are possible", len(body), maxAnswer)
		}
		if err != nil {
			writeFault(w, err, reveal)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a caller that is gone learns nothing more
	}
}

func writeFault(w http.ResponseWriter, err error, reveal bool) {
	f := fault.Of(err)
	out := wireFault{Code: f.Code, Message: clip(f.Message, maxMessage), RetryAfter: f.RetryAfter}
	if reveal && f.Cause != nil {
		out.Cause = clip(f.Cause.Error(), maxMessage)
	}
	body, _ := encode(out) // strings and a number always encode
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body)
}
