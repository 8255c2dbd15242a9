package demoagent

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// turn is what one turn adds to a conversation. On disk the two halves are
// lines of their own: the first is written before the turn does anything.
type turn struct {
	User  string
	Agent string
}

// half is one line of the file: one of the two is set.
type half struct {
	User  *string `json:"user,omitempty"`
	Agent *string `json:"agent,omitempty"`
}

// store keeps conversations, a file of JSON lines each.
type store struct{ dir string }

var sessionID = regexp.MustCompile(`^demo_[0-9a-f]{16}$`)

var errUnknown = errors.New("unknown session")

func (s store) file(id string) (string, error) {
	if !sessionID.MatchString(id) { // it becomes a file name
		return "", errUnknown
	}
	return filepath.Join(s.dir, id+".jsonl"), nil
}

// create begins an empty conversation and returns its id.
func (s store) create() (string, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", fmt.Errorf("make state folder: %w", err)
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	id := "demo_" + hex.EncodeToString(b[:])
	file, err := s.file(id)
	if err != nil {
		return "", err
	}
	return id, os.WriteFile(file, nil, 0o600)
}

// save appends half a turn and returns when it is on disk. It begins a line of
// its own, also after one that a kill has cut.
func (s store) save(id string, h half) error {
	file, err := s.file(id)
	if err != nil {
		return err
	}
	line, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode turn: %w", err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open conversation: %w", err)
	}
	line = append(line, '\n')
	if torn(f) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Sync(), f.Close())
}

// torn says whether the file's last line has no end.
func torn(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// load reads a conversation. A last line that a kill has cut is left out.
func (s store) load(id string) ([]turn, error) {
	file, err := s.file(id)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read conversation: %w", err)
	}
	var past []turn
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	for lines.Scan() {
		var h half
		if json.Unmarshal(lines.Bytes(), &h) != nil {
			continue
		}
		if h.User != nil {
			past = append(past, turn{User: *h.User})
		} else if h.Agent != nil && len(past) > 0 {
			past[len(past)-1].Agent = *h.Agent
		}
	}
	return past, nil
}
