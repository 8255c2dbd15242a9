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
	hang  bool  // a SaveFiles ends when it is given up
	hung  bool  // a SaveFiles hangs, or has
}

// stubFile is what they are saved to.
const stubFile = "files"

func (f *stubFiles) SaveFiles(ctx context.Context, folder string) error {
	f.mu.Lock()
	hang := f.hang
	f.hung = f.hung || hang
	f.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
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

// hangs says whether a SaveFiles hangs, or has.
func (f *stubFiles) hangs() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hung
}

// write gives the machine another text.
func (f *stubFiles) write(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = text
}

// read gives its text, and how often that was saved.
func (f *stubFiles) read() (text string, saves int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text, f.saves
}

// hangSaves lets every SaveFiles hang from now on.
func (f *stubFiles) hangSaves() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hang = true
}

// failSaves is the error of every SaveFiles from now on.
func (f *stubFiles) failSaves(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}
