package broker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"

	"paddock/internal/sandbox"
)

// leastRedacted is how long a value has to be, in bytes, to be replaced in
// answers: a shorter one stands there by chance.
const leastRedacted = 6

// hostSecrets are the secrets of one host.
type hostSecrets struct {
	secrets []sandbox.Brokered
	redact  pairs // in answers
}

// secretsByHost gives the secrets of each host.
func secretsByHost(all []sandbox.Brokered) map[string]*hostSecrets {
	by := map[string]*hostSecrets{}
	for _, s := range all {
		if s.Host == "" || s.Placeholder == "" {
			continue
		}
		host := strings.TrimSuffix(strings.ToLower(s.Host), ".")
		if by[host] == nil {
			by[host] = &hostSecrets{}
		}
		by[host].secrets = append(by[host].secrets, s)
		by[host].redact.secret(s)
	}
	return by
}

// secret adds the ways in which an answer may quote a value.
func (p *pairs) secret(s sandbox.Brokered) {
	if len(s.Value) < leastRedacted {
		return
	}
	p.add(s.Value, s.Placeholder)
	p.add(url.QueryEscape(s.Value), s.Placeholder)
	p.add(url.PathEscape(s.Value), s.Placeholder)
	p.add(html.EscapeString(s.Value), s.Placeholder)
	for _, escape := range []bool{false, true} {
		p.add(quoted(s.Value, escape), s.Placeholder)
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		if whole := e.EncodeToString([]byte(s.Value)); strings.HasSuffix(whole, "=") { // nothing comes after it
			p.add(whole, e.EncodeToString([]byte(s.Placeholder)))
		}
		for before := range 3 {
			value, placeholder := within(e, before, s.Value), within(e, before, s.Placeholder)
			if placeholder == "" {
				placeholder = "."
			}
			p.add(value, strings.Repeat(placeholder, len(value)/len(placeholder)+1)[:len(value)])
		}
	}
}

// quoted is a text as it stands in JSON.
func quoted(text string, escape bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escape)
	_ = e.Encode(text) // a text can be encoded
	return strings.Trim(strings.TrimSpace(b.String()), `"`)
}

// within is what the base64 of something longer has of the text, where the
// number of bytes before it leaves that remainder by three.
func within(e *base64.Encoding, before int, text string) string {
	encoded := e.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", before) + text))
	bits := (before + len(text)) * 8
	return encoded[(before*8+5)/6 : bits/6]
}

// fill puts the values into a request. What it replaces in a way that hides the
// placeholder is added to what is replaced in the answer.
func (h *hostSecrets) fill(r *http.Request) (answer pairs) {
	answer = h.redact
	for _, s := range h.secrets {
		for name, values := range r.Header {
			if s.Header != "" && !strings.EqualFold(s.Header, name) {
				continue
			}
			for i, v := range values {
				v = strings.ReplaceAll(v, s.Placeholder, s.Value)
				if name == "Authorization" {
					if basic, was, is := fillBasic(v, s); is != "" {
						v = basic
						if len(s.Value) >= leastRedacted {
							answer = append(pairs(nil), answer...)
							answer.add(is, was)
						}
					}
				}
				values[i] = v
			}
		}
		if s.Header == "" {
			r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, s.Placeholder, url.QueryEscape(s.Value))
		}
	}
	return answer
}

// fillBasic puts a value into a user or password of Basic authentication (RFC
// 7617), which travel in base64; is is "" when the placeholder is not there.
func fillBasic(header string, s sandbox.Brokered) (filled, was, is string) {
	scheme, payload, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", ""
	}
	was = strings.TrimSpace(payload)
	plain, err := base64.StdEncoding.DecodeString(was)
	if err != nil || !strings.Contains(string(plain), s.Placeholder) {
		return "", "", ""
	}
	is = base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(string(plain), s.Placeholder, s.Value)))
	return scheme + " " + is, was, is
}
