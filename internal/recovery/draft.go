package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"paddock/internal/id"
)

// Draft is a point in the making. Either Keep or Drop ends it.
type Draft struct {
	points  *Points
	session id.Session
	folder  string
	older   []int
}

// Begin makes an empty folder for the files of a session.
func (p *Points) Begin(sid id.Session) (*Draft, error) {
	older, err := p.numbers(sid)
	if err != nil {
		return nil, err
	}
	next := 1
	if len(older) > 0 {
		next = older[0] + 1
	}
	d := &Draft{points: p, session: sid, folder: p.folder(sid, next) + draftSuffix, older: older}
	if err := os.MkdirAll(d.folder, 0o700); err != nil {
		return nil, fmt.Errorf("make recovery point: %w", err)
	}
	return d, nil
}

// Folder is where the files go.
func (d *Draft) Folder() string { return d.folder }

// Keep makes the draft, with the files that are in its folder, the session's
// newest point, durably, and removes the older ones. Runtime is the digest of
// what saved the files. On error nothing has changed.
func (d *Draft) Keep(ctx context.Context, at time.Time, runtime string) (Point, error) {
	m, err := manifest{Version: manifestVersion, Session: d.session.String(), At: at.UTC(), Runtime: runtime}.seal(ctx, d.folder)
	if err != nil {
		return Point{}, errors.Join(err, d.Drop())
	}
	point := Point{At: m.At, Bytes: m.size(), Folder: strings.TrimSuffix(d.folder, draftSuffix)}
	p := d.points
	if err := os.Rename(d.folder, point.Folder); err != nil {
		return Point{}, errors.Join(fmt.Errorf("name recovery point: %w", err), d.Drop())
	}
	if err := errors.Join(syncPath(p.of(d.session)), syncPath(p.root)); err != nil {
		return Point{}, fmt.Errorf("sync recovery points: %w", err) // it may be there all the same, beside the older ones
	}
	p.mu.Lock()
	p.newest[d.session] = point
	p.mu.Unlock()
	for _, n := range d.older {
		if err := os.RemoveAll(p.folder(d.session, n)); err != nil {
			return point, fmt.Errorf("remove older recovery point: %w", err)
		}
	}
	return point, nil
}

// Drop removes the draft.
func (d *Draft) Drop() error {
	if err := os.RemoveAll(d.folder); err != nil {
		return fmt.Errorf("remove unfinished recovery point: %w", err)
	}
	return nil
}
