package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"paddock/internal/network/egress"
)

// wholeAnswer is up to which length an answer of known length is looked at
// before its head is sent, so that the head says the length that it comes to.
const wholeAnswer = 64 << 10

// answerKey is where a request's context has what is replaced in its answer.
type answerKey struct{}

// ServeHTTP is part of http.Handler.
func (s *serving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		panic(http.ErrAbortHandler)
	}
	defer s.answer.Done()
	switch {
	case egress.HostOf(r.Host) != s.Host: // the connection is to one host, which was looked at
		refuse(w, http.StatusMisdirectedRequest, fmt.Sprintf("this connection is to %s; requests to other hosts need their own", s.Host))
		return
	case r.Method == http.MethodConnect:
		refuse(w, http.StatusMethodNotAllowed, "CONNECT is not possible here")
		return
	case s.failed != nil:
		s.fail(w, r, s.failed)
		return
	}
	if r.ProtoMajor == 1 {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1 has it
	}
	answer := new(pairs)
	s.proxy.ServeHTTP(&plainHead{w, answer}, r.WithContext(context.WithValue(r.Context(), answerKey{}, answer)))
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, "paddock: %s\n", why) // a client that is gone learns nothing more
}

// fail answers a request that the host was not, or could not be, asked.
func (s *serving) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // nobody waits for it
	}
	text := err.Error()
	if h := s.broker.of(s.Host); h != nil {
		text = h.redact.text(text)
	}
	refuse(w, http.StatusBadGateway, fmt.Sprintf("cannot speak to %s for the sandbox: %s", s.Host, text))
}

// pieces are of pieceBuffer bytes.
type pieces struct{ pool sync.Pool }

func (p *pieces) Get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, pieceBuffer)
}

func (p *pieces) Put(b []byte) { p.pool.Put(&b) }

// spare are shared by all connections.
var spare pieces

func (s *serving) newProxy(to http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Transport: to, Rewrite: s.rewrite, ModifyResponse: s.answered, ErrorHandler: s.fail,
		ErrorLog: log.New(io.Discard, "", 0), BufferPool: &spare,
	}
}

// forwarding are the headers that the proxy takes from clients; these are theirs
// to send.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// rewrite makes the request to the host of that of the machine. But for the
// placeholders, and which compression is asked for, it is as it came.
func (s *serving) rewrite(p *httputil.ProxyRequest) {
	in, out := p.In, p.Out
	scheme := "http"
	if s.TLS {
		scheme = "https"
	}
	out.URL = asSent(in, &url.URL{Scheme: scheme, Host: s.Host})
	out.Host = in.Host
	out.Trailer = in.Trailer // filled in when the body has ended
	for _, name := range forwarding {
		if values, ok := in.Header[name]; ok {
			out.Header[name] = values
		}
	}
	h := s.broker.of(s.Host)
	if h == nil { // taken away meanwhile
		return
	}
	answer := h.fill(out)
	if len(answer) > 0 {
		askPlain(out.Header)
	}
	*in.Context().Value(answerKey{}).(*pairs) = answer
}

// asSent gives the URL a path and query whose bytes are those of the request.
func asSent(r *http.Request, u *url.URL) *url.URL {
	target := r.RequestURI
	if _, rest, absolute := strings.Cut(target, "://"); absolute && !strings.HasPrefix(target, "/") {
		if slash := strings.IndexAny(rest, "/?"); slash >= 0 {
			target = rest[slash:]
		} else {
			target = ""
		}
	}
	path, query, asked := strings.Cut(target, "?")
	u.RawQuery, u.ForceQuery = query, asked && query == ""
	switch {
	case path == "":
		u.Path = "/"
	case strings.HasPrefix(path, "//"): // in Opaque it would be a host
		u.Path, u.RawPath = r.URL.Path, path
	default:
		u.Opaque = path
	}
	return u
}

// errEncoding says that an answer cannot be looked at.
var errEncoding = errors.New("its answer is compressed in a way that was not asked for and cannot be looked at")

// answered looks at an answer before it goes to the machine.
func (s *serving) answered(r *http.Response) error {
	r.Header.Del("Alt-Svc") // elsewhere nobody would put the secrets in
	answer := *r.Request.Context().Value(answerKey{}).(*pairs)
	answer.header(r.Header)
	if code := r.StatusCode; r.Request.Method == http.MethodHead || code == http.StatusNoContent || code == http.StatusNotModified {
		_ = r.Body.Close()
		r.Body = http.NoBody // whatever length it tells: the libraries miss it
		return nil
	}
	if len(answer) == 0 || r.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	body := r.Body
	zipped := false
	switch encoding := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ",")); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		if r.StatusCode == http.StatusPartialContent {
			return errEncoding
		}
		zipped, body = true, &unzipped{source: r.Body}
		r.Header.Del("Content-Encoding")
	default:
		return errEncoding
	}
	r.Body = answer.body(body, func() { answer.header(r.Trailer) })
	switch {
	case !zipped && (r.ContentLength < 0 || answer.keepLength()):
	case !zipped && r.ContentLength <= wholeAnswer:
		whole, err := io.ReadAll(r.Body)
		if err != nil {
			return fmt.Errorf("read its answer: %w", err)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(whole)), int64(len(whole))
		r.Header.Set("Content-Length", strconv.Itoa(len(whole)))
	default:
		r.ContentLength = -1
		r.Header.Del("Content-Length")
	}
	return nil
}

// plainHead is a ResponseWriter that adds nothing of its own to the head, and
// replaces in the heads that come before it.
type plainHead struct {
	http.ResponseWriter
	answer *pairs
}

// Unwrap is for http.ResponseController.
func (p *plainHead) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader is part of http.ResponseWriter.
func (p *plainHead) WriteHeader(code int) {
	h := p.Header()
	if code < http.StatusOK {
		p.answer.header(h)
	} else {
		for _, name := range []string{"Date", "Content-Type"} { // else they are made up
			if _, ok := h[name]; !ok {
				h[name] = nil
			}
		}
	}
	p.ResponseWriter.WriteHeader(code)
}
