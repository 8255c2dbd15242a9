package program

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds one line of an agent. It is far above what agents send (whole
// files in a diff); a longer line is skipped.
const MaxLine = 32 << 20

var errTooLong = fmt.Errorf("a line is longer than %d bytes", MaxLine)

// lines reads a program's output.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) *lines { return &lines{bufio.NewReaderSize(r, 64<<10)} }

// next reads the next line that is not empty. errTooLong leaves the reader
// usable: that line is skipped, and its beginning given. Other errors end the
// stream.
func (s *lines) next() ([]byte, error) {
	for {
		line, err := s.whole()
		if err != nil {
			return line, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// whole reads a line into memory of its own.
func (s *lines) whole() ([]byte, error) {
	var whole []byte
	for {
		part, err := s.r.ReadSlice('\n')
		if len(whole)+len(part) > MaxLine {
			return whole[:min(len(whole), 4<<10)], s.skip(err)
		}
		whole = append(whole, part...)
		switch {
		case err == nil:
			return whole, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(whole) > 0:
			return whole, nil // a last line without its newline
		default:
			return nil, err
		}
	}
}

// skip reads to the end of a line that is too long.
func (s *lines) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = s.r.ReadSlice('\n')
	}
	if err != nil {
		return err
	}
	return errTooLong
}
