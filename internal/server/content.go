package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"paddock/internal/fault"
)

// writeTimeout is how long a reader of a file may take for one piece.
const writeTimeout = 30 * time.Second

func (e *edge) readFile(w http.ResponseWriter, r request) error {
	path := r.URL.Query().Get("path")
	if path == "" {
		return fault.New(fault.BadRequest, "path is missing: name a file of the workspace")
	}
	part, ranged := readRange(r.Header)
	ref := r.PathValue("session")
	if part.last { // the end is known only with the size
		file, content, err := e.engine.ReadFile(r.Context(), r.who.Team, ref, path, 0, 0)
		if err != nil {
			return err
		}
		content.Close()
		part = byteRange{from: max(0, file.Size-part.length), length: -1}
	}
	file, content, err := e.engine.ReadFile(r.Context(), r.who.Team, ref, path, part.from, part.length)
	if err != nil {
		return err
	}
	defer content.Close()

	h := w.Header()
	h.Set("Accept-Ranges", "bytes")
	if ranged && part.from >= file.Size {
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", file.Size))
		writeError(w, http.StatusRequestedRangeNotSatisfiable,
			fault.New(fault.BadRequest, "the range begins at byte %d, the file has %d bytes", part.from, file.Size))
		return nil
	}
	length := file.Size - part.from
	if part.length >= 0 {
		length = min(length, part.length)
	}
	h.Set("Content-Type", "application/octet-stream") // what an agent wrote is never shown as a page of ours
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	h.Set("Last-Modified", file.ModTime.UTC().Format(http.TimeFormat))
	status := http.StatusOK
	if ranged {
		status = http.StatusPartialContent
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.from, part.from+length-1, file.Size))
	}
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	return copyOut(w, content, length)
}

// copyOut copies length bytes, each piece with a deadline. The file may have
// become shorter meanwhile: then the answer is cut, not padded.
func copyOut(w http.ResponseWriter, content io.Reader, length int64) error {
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	piece := make([]byte, 64<<10)
	for length > 0 {
		n, err := content.Read(piece[:min(length, int64(len(piece)))])
		length -= int64(n)
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(piece[:n]); err != nil {
			return fmt.Errorf("write file: %w", err)
		}
		switch {
		case errors.Is(err, io.EOF) && length > 0:
			return fmt.Errorf("read file: %w", io.ErrUnexpectedEOF)
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("read file: %w", err)
		}
	}
	return nil
}

// byteRange is a part of a file.
type byteRange struct {
	from   int64
	length int64 // -1: to the end
	last   bool  // the last length bytes, from is not known yet
}

// readRange reads the header Range. Several ranges, or one that is malformed or
// conditional, may be ignored (RFC 9110, 14.2): then the whole is given.
func readRange(h http.Header) (part byteRange, ranged bool) {
	whole := byteRange{length: -1}
	text, ok := strings.CutPrefix(h.Get("Range"), "bytes=")
	if !ok || h.Get("If-Range") != "" {
		return whole, false
	}
	first, last, ok := strings.Cut(strings.TrimSpace(text), "-")
	if !ok {
		return whole, false
	}
	if first == "" {
		n, err := strconv.ParseUint(last, 10, 62)
		if err != nil || n == 0 {
			return whole, false
		}
		return byteRange{length: int64(n), last: true}, true
	}
	from, err := strconv.ParseUint(first, 10, 62)
	if err != nil {
		return whole, false
	}
	if last == "" {
		return byteRange{from: int64(from), length: -1}, true
	}
	to, err := strconv.ParseUint(last, 10, 62)
	if err != nil || to < from {
		return whole, false
	}
	return byteRange{from: int64(from), length: int64(to-from) + 1}, true
}
