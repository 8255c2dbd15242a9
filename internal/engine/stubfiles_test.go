package engine

import (
	"context"
	"os"
	"path/filepath"
	"sync"
)

// stubFiles are the files of a stubMachine: one text.
type stubFiles struct {
	mu    sync.Mutex
	text  string
	fail  error // of SaveFiles
	saves int   // how often files were saved
}

// stubFile is what they are saved to.
const stubFile = "files"

func (f *stubFiles) SaveFiles(_ context.Context, folder string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	f.saves++
	return os.WriteFile(filepath.Join(folder, stubFile), []byte(f.text), 0o600)
}

func (f *stubFiles) load(folder string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := os.ReadFile(filepath.Join(folder, stubFile))
	f.text = string(text)
	return err
}
