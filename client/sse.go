package client

import (
	"bufio"
	"bytes"
	"io"
)

// maxFrameLine bounds one line of a stream, in bytes. Events are at most 1 MiB
// with as much of raw bytes, in base64.
const maxFrameLine = 16 << 20

// frame is one piece of an event stream: an event, whose id is in its data too,
// or a comment.
type frame struct {
	event   string
	data    []byte
	comment string // when not empty, nothing else is set
}

// frames cuts a text/event-stream into frames.
type frames struct {
	lines *bufio.Scanner
	event string // of the last frame that had one
}

func newFrames(r io.Reader) *frames {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 16<<10), maxFrameLine)
	return &frames{lines: lines}
}

// next gives the next frame. A frame that the stream's end cuts off is lost, as
// the format has it: io.EOF.
func (f *frames) next() (frame, error) {
	var got frame
	for f.lines.Scan() {
		line := f.lines.Bytes()
		switch {
		case len(line) == 0:
			if got.data != nil {
				return got, nil
			}
			got = frame{}
		case line[0] == ':':
			return frame{comment: string(bytes.TrimPrefix(line[1:], []byte(" ")))}, nil
		default:
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(name) {
			case "event":
				f.event = known(value, f.event)
				got.event = f.event
			case "data":
				if got.data != nil {
					got.data = append(got.data, '\n')
				}
				got.data = append(got.data, value...)
			}
		}
	}
	if err := f.lines.Err(); err != nil {
		return frame{}, err
	}
	return frame{}, io.EOF
}
