package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const prefix = "/v2/harness-runtime"

// Options adjust a client; the zero value is right for most.
type Options struct {
	HTTP      *http.Client // nil: one of its own; it must have no Timeout, streams are long
	UserAgent string       // empty: "paddock"
	// Backoff is how long a stream waits before its first attempt to reconnect;
	// it doubles up to MaxBackoff. Zero: 100 ms and 5 s.
	Backoff, MaxBackoff time.Duration
}

// Client calls one server with one token. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	token   string
	options Options
}

// New makes a client of the server at baseURL (http or https, such as
// http://127.0.0.1:7723). It fails only when baseURL is no such URL.
func New(baseURL, token string, options Options) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(baseURL, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the URL of a server; it looks like http://127.0.0.1:7723", baseURL)
	}
	if options.HTTP == nil {
		options.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	if options.UserAgent == "" {
		options.UserAgent = "paddock"
	}
	if options.Backoff <= 0 {
		options.Backoff = 100 * time.Millisecond
	}
	if options.MaxBackoff <= 0 {
		options.MaxBackoff = 5 * time.Second
	}
	return &Client{base: base, token: token, options: options}, nil
}

// call is one request. Path elements are escaped one by one.
type call struct {
	method  string
	path    []string // below prefix; with root, below the server's root
	root    bool
	query   url.Values
	headers map[string]string
	body    any       // JSON; nil: none
	raw     []byte    // instead of body
	stream  io.Reader // instead of both
}

// send performs a call; the caller closes the response's body. Anything but a
// 2xx answer is an *Error. So is a name that cannot be part of a path; that
// call is not made.
func (c *Client) send(ctx context.Context, what call) (*http.Response, error) {
	text := what.raw
	if err := what.named(); err != nil {
		return nil, err
	}
	if what.body != nil {
		var err error
		if text, err = json.Marshal(what.body); err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
	}
	var body io.Reader
	if text != nil {
		body = bytes.NewReader(text)
	}
	if what.stream != nil {
		body = what.stream
	}
	request, err := http.NewRequestWithContext(ctx, what.method, c.address(what), body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("User-Agent", c.options.UserAgent)
	if what.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range what.headers {
		request.Header.Set(name, value)
	}
	response, err := c.options.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer response.Body.Close()
		return nil, errorFrom(response)
	}
	return response, nil
}

// do performs a call and decodes its answer; an empty answer is the zero value.
func do[T any](ctx context.Context, c *Client, what call) (T, error) {
	response, err := c.send(ctx, what)
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](response)
}

// decode reads a whole answer and closes it.
func decode[T any](response *http.Response) (T, error) {
	defer response.Body.Close()
	var answer T
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer, fmt.Errorf("read answer: %w", err)
	}
	if len(text) == 0 {
		return answer, nil
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("decode answer: %w", err)
	}
	return answer, nil
}

// named refuses a session, run or approval whose name would make the path that
// of something else: "" that of the list, dots that of what is above.
func (what call) named() error {
	for _, element := range what.path {
		if element == "" || element == "." || element == ".." {
			return &Error{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("%q is no name and no id", element)}
		}
	}
	return nil
}

// address is where a call goes.
func (c *Client) address(what call) string {
	var b strings.Builder
	b.WriteString(c.base.String())
	if !what.root {
		b.WriteString(prefix)
	}
	for _, element := range what.path {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(element))
	}
	if len(what.query) > 0 {
		b.WriteByte('?')
		b.WriteString(what.query.Encode())
	}
	return b.String()
}

// values makes a query of name, value pairs, leaving out those without a value.
func values(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}
