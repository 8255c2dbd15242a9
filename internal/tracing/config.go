package tracing

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Config is where spans go, and how.
type Config struct {
	URL     string // of the collector's traces, complete; empty: nowhere
	Headers http.Header
	Gzip    bool
	Timeout time.Duration // of one request
	Notes   []string      // about what was configured and is not done
}

const defaultTimeout = 10 * time.Second

// Configure reads what OpenTelemetry's environment variables say, and takes those
// with secrets out of the environment, for no child of the server's is to see
// them. An endpoint that is not empty goes before the variables' own.
func Configure(endpoint string) (Config, error) {
	c := Config{Timeout: defaultTimeout, Headers: http.Header{}}
	headers, from := variable("HEADERS")
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		if err := os.Unsetenv(name); err != nil {
			return c, err
		}
	}
	if off, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED")); off || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return c, nil
	}
	var err error
	if c.URL, err = target(endpoint); err != nil || c.URL == "" {
		return c, err
	}
	if err := readHeaders(c.Headers, headers); err != nil {
		return c, fmt.Errorf("%s: %w", from, err)
	}
	if text, from := variable("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return c, fmt.Errorf("%s is %q, want a number of milliseconds", from, text)
		}
		c.Timeout = time.Duration(ms) * time.Millisecond
	}
	switch text, from := variable("COMPRESSION"); text {
	case "gzip":
		c.Gzip = true
	case "", "none":
	default:
		return c, fmt.Errorf("%s is %q, want gzip or none", from, text)
	}
	if text, from := variable("PROTOCOL"); text != "" && text != "http/protobuf" {
		c.Notes = append(c.Notes, fmt.Sprintf("%s is %s, but spans are sent as http/protobuf", from, text))
	}
	return c, nil
}

// variable reads the variable for traces, else the one for all signals, and says
// which it was.
func variable(name string) (text, from string) {
	for _, from = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
		if text = strings.TrimSpace(os.Getenv(from)); text != "" {
			return text, from
		}
	}
	return "", ""
}

// target is the complete URL for traces; empty when none is configured. An
// endpoint for all signals gets the path of traces, one for traces is taken as
// it is.
func target(endpoint string) (string, error) {
	from, whole := "--otlp-endpoint", false
	if endpoint == "" {
		endpoint, from = variable("ENDPOINT")
		whole = from == "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	}
	if endpoint == "" {
		return "", nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s is %q, want a URL such as http://localhost:4318", from, endpoint)
	}
	if whole {
		return u.String(), nil
	}
	return u.JoinPath("v1", "traces").String(), nil
}

// readHeaders reads key=value,key=value, values escaped as in a URL. A fault does
// not quote them.
func readHeaders(into http.Header, text string) error {
	for i, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || !isToken(key) || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("header %d cannot be read, want name=value", i+1)
		}
		into.Set(key, value)
	}
	return nil
}

// isToken says whether a text is the name of a header.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

// Shown is the URL as the log may have it: without a password.
func (c Config) Shown() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return u.Redacted()
}
