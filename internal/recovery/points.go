package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"paddock/internal/id"
)

// ErrNone reports a session without a recovery point.
var ErrNone = errors.New("there is no recovery point")

// draftSuffix marks what is not a point yet.
const draftSuffix = ".new"

// Point is one recovery point.
type Point struct {
	At     time.Time // when the files were as they are in it
	Bytes  int64     // on disk
	Folder string    // with the files, as sandbox.Spec.Files wants them
}

// Points are the recovery points of all sessions. They are safe for concurrent
// use; two drafts of one session at a time are not.
type Points struct {
	root string

	mu     sync.Mutex // guards what follows
	newest map[id.Session]Point
}

// Open finds the points below root, which is made when absent, and removes what
// a killed server has left unfinished.
func Open(root string) (*Points, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("make recovery folder: %w", err)
	}
	p := &Points{root: root, newest: map[id.Session]Point{}}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("list recovery points: %w", err)
	}
	for _, entry := range entries {
		sid, err := id.Parse[id.Session](entry.Name())
		if err != nil {
			continue // not ours
		}
		numbers, err := p.numbers(sid)
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			folder := p.folder(sid, n)
			if m, err := readManifest(folder); err == nil {
				p.newest[sid] = Point{At: m.At, Bytes: m.size(), Folder: folder}
				break
			}
		}
	}
	return p, nil
}

func (p *Points) of(sid id.Session) string { return filepath.Join(p.root, sid.String()) }

func (p *Points) folder(sid id.Session, n int) string {
	return filepath.Join(p.of(sid), fmt.Sprintf("%06d", n))
}

// numbers lists a session's points, the newest first, and removes unfinished
// ones.
func (p *Points) numbers(sid id.Session) (found []int, err error) {
	entries, err := os.ReadDir(p.of(sid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list recovery points: %w", err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), draftSuffix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(p.of(sid), entry.Name())))
		} else if n, bad := strconv.Atoi(entry.Name()); bad == nil {
			found = append(found, n)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("remove unfinished recovery point: %w", err)
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found, nil
}

// Newest gives a session's newest point as its manifest has it, for people; ok is
// false when there is none. Find is for who wants to start from it.
func (p *Points) Newest(sid id.Session) (point Point, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	point, ok = p.newest[sid]
	return point, ok
}

// Sessions lists the sessions that have anything here.
func (p *Points) Sessions() (all []id.Session, err error) {
	entries, err := os.ReadDir(p.root)
	if err != nil {
		return nil, fmt.Errorf("list recovery points: %w", err)
	}
	for _, entry := range entries {
		if sid, err := id.Parse[id.Session](entry.Name()); err == nil {
			all = append(all, sid)
		}
	}
	return all, nil
}

// Find gives the newest point whose files are all there, byte for byte; ErrNone
// when no point was made, and what is wrong when the points there are will not
// do.
func (p *Points) Find(ctx context.Context, sid id.Session) (Point, error) {
	numbers, err := p.numbers(sid)
	if err != nil {
		return Point{}, err
	}
	if len(numbers) == 0 {
		return Point{}, ErrNone
	}
	var bad error
	for _, n := range numbers {
		folder := p.folder(sid, n)
		m, err := readManifest(folder)
		if err == nil {
			err = m.verify(ctx, folder)
		}
		if err == nil {
			return Point{At: m.At, Bytes: m.size(), Folder: folder}, nil
		}
		bad = errors.Join(bad, err)
	}
	return Point{}, fmt.Errorf("find recovery point: %w", bad)
}

// Remove removes all points of a session; absent is no error.
func (p *Points) Remove(sid id.Session) error {
	p.mu.Lock()
	delete(p.newest, sid)
	p.mu.Unlock()
	if err := os.RemoveAll(p.of(sid)); err != nil {
		return fmt.Errorf("remove recovery points: %w", err)
	}
	return nil
}
