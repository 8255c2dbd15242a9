// Package undo keeps the inverse of each step of something half built, to be
// run in reverse when it fails and dropped when it succeeds.
package undo

import "errors"

// Stack holds inverses. The zero value is ready; it is not safe for concurrent
// use. The usual form is
//
//	var u undo.Stack
//	defer u.Unwind(&err)
//	…; u.Push(inverse); …
//	u.Release()
type Stack struct{ inverses []func() error }

// Push adds the inverse of the step just done.
func (s *Stack) Push(inverse func() error) { s.inverses = append(s.inverses, inverse) }

// Release forgets all inverses: the work is whole.
func (s *Stack) Release() { s.inverses = nil }

// Unwind runs the inverses in reverse and joins what they say to *err. After
// Release it does nothing.
func (s *Stack) Unwind(err *error) {
	for i := len(s.inverses) - 1; i >= 0; i-- {
		if e := s.inverses[i](); e != nil {
			*err = errors.Join(*err, e)
		}
	}
	s.inverses = nil
}
