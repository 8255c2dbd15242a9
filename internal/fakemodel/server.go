package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody bounds a request; agents send their whole conversation each time.
const maxBody = 32 << 20

// Handler serves the model. Base addresses for agents are this server's root
// and /v1 (Gemini's: its root); any key will do.
func Handler() http.Handler {
	mux := http.NewServeMux()
	play := new(script)
	for _, base := range []string{"", "/v1"} {
		mux.HandleFunc("POST "+base+"/chat/completions", serve(play, parseChat, chat{}))
		mux.HandleFunc("POST "+base+"/messages", serve(play, parseMessages, messages{}))
		mux.HandleFunc("POST "+base+"/responses", serve(play, parseResponses, responses{}))
		mux.HandleFunc("POST "+base+"/messages/count_tokens", func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
			writeJSON(w, http.StatusOK, object{"input_tokens": tokens(len(b))})
		})
		mux.HandleFunc("GET "+base+"/models", func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{{"id": "scripted", "object": "model", "type": "model", "display_name": "Scripted"}}})
		})
	}
	for _, base := range []string{"/v1beta", "/v1"} {
		mux.HandleFunc("POST "+base+"/models/{call}", geminiCall(play))
	}
	return mux
}

// geminiCall serves what Gemini has in one path element: MODEL:METHOD.
func geminiCall(play *script) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		model, method, _ := strings.Cut(r.PathValue("call"), ":")
		parse := func(body object) request {
			asked := parseGemini(body)
			asked.model, asked.stream = model, method == "streamGenerateContent"
			return asked
		}
		switch method {
		case "generateContent", "streamGenerateContent":
			serve(play, parse, gemini{})(w, r)
		case "countTokens":
			b, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
			writeJSON(w, http.StatusOK, object{"totalTokens": tokens(len(b))})
		default:
			writeJSON(w, http.StatusNotFound, gemini{}.failure(http.StatusNotFound))
		}
	}
}

// dialect writes replies in one protocol.
type dialect interface {
	failure(status int) object
	whole(r request, a reply, id string) object
	stream(s *stream, r request, a reply, id string)
}

func serve(play *script, parse func(object) request, d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		b, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
		var body object
		if err == nil {
			err = json.Unmarshal(b, &body)
		}
		if err != nil {
			writeJSON(w, http.StatusBadRequest, d.failure(http.StatusBadRequest))
			return
		}
		r := parse(body)
		r.size = len(b)
		a := play.answer(r)
		// An id that follows from the request: the same conversation gives the
		// same ids, and no two calls of one conversation share one.
		id := fmt.Sprintf("%d_%d_%d", len(r.users), len(r.results), len(b))
		switch {
		case a.status != 0:
			if a.status == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", "1")
			}
			writeJSON(w, a.status, d.failure(a.status))
		case r.stream || a.cut:
			d.stream(newStream(w, hr), r, a, id)
		default:
			writeJSON(w, http.StatusOK, d.whole(r, a, id))
		}
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone wants no answer
}

// stream writes server-sent events.
type stream struct {
	w    http.ResponseWriter
	c    *http.ResponseController
	r    *http.Request
	lost bool
}

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, c: http.NewResponseController(w), r: r}
}

// event sends one event; name "" leaves its name out. Data is JSON, or a string
// as it is.
func (s *stream) event(name string, data any) {
	text, isText := data.(string)
	if !isText {
		b, _ := json.Marshal(data) // our own values always encode
		text = string(b)
	}
	if name != "" {
		_, _ = fmt.Fprintf(s.w, "event: %s\n", name)
	}
	if _, err := fmt.Fprintf(s.w, "data: %s\n\n", text); err != nil || s.c.Flush() != nil {
		s.lost = true
	}
}

// pieces sends each piece, at the reply's pace; false when the client is gone, or
// is cut off.
func (s *stream) pieces(a reply, send func(piece string)) bool {
	for i, piece := range a.pieces {
		if i > 0 && a.pace > 0 {
			select {
			case <-time.After(a.pace):
			case <-s.r.Context().Done():
				return false
			}
		}
		send(piece)
		if s.lost {
			return false
		}
	}
	if a.cut {
		panic(http.ErrAbortHandler) // the server's way to end a connection without an end
	}
	return true
}

// tokens counts about four bytes as one.
func tokens(bytes int) int { return (bytes + 3) / 4 }

func (a reply) text() string { return strings.Join(a.pieces, "") }

func (c *call) arguments() string {
	b, _ := json.Marshal(c.input) // strings and lists of them always encode
	return string(b)
}

// textOf joins the texts of a content: a string, or a list of parts.
func textOf(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var texts []string
		for _, part := range c {
			if p, ok := part.(object); ok {
				if s, ok := p["text"].(string); ok {
					texts = append(texts, s)
				}
			}
		}
		return strings.Join(texts, "\n")
	}
	return ""
}

func list(v any) []any      { l, _ := v.([]any); return l }
func str(v any) string      { s, _ := v.(string); return s }
func objectOf(v any) object { o, _ := v.(object); return o }
