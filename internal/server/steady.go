package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"paddock/internal/fault"
)

// steady is the body of a call that may be long: not the whole of it has to come
// in time, but each piece.
type steady struct {
	from     io.Reader
	control  *http.ResponseController
	patience time.Duration
}

// Read reads a piece.
func (s *steady) Read(b []byte) (int, error) {
	_ = s.control.SetReadDeadline(time.Now().Add(s.patience))
	n, err := s.from.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fault.Wrap(err, fault.BadRequest, "the body stopped coming; send it again")
	} else if err != nil && !errors.Is(err, io.EOF) {
		err = fault.Wrap(err, fault.BadRequest, "the body could not be read to its end")
	}
	return n, err
}

// drainMost and drainTime bound what is read of a body that nobody wants, so that
// its sender, who is sending still, gets to the answer.
const (
	drainMost = 256 << 20
	drainTime = 10 * time.Second
)

func (s *steady) drain() {
	_ = s.control.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, s.from, drainMost) // whatever comes of it
}
