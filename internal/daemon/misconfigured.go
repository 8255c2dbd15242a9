package daemon

import (
	"errors"

	"paddock/internal/sandbox"
	"paddock/internal/store/sqlstore"
)

// MisconfiguredError is why a server does not start and will not start by being
// started again: somebody has to change its configuration, or what is installed.
type MisconfiguredError struct{ Err error }

// Error gives the sentence of what is wrong.
func (e *MisconfiguredError) Error() string { return e.Err.Error() }

// Unwrap gives what is wrong.
func (e *MisconfiguredError) Unwrap() error { return e.Err }

// classify marks errors that a restart does not cure.
func classify(err error) error {
	if errors.Is(err, sqlstore.ErrNewer) || errors.Is(err, sandbox.ErrNewer) {
		return &MisconfiguredError{err}
	}
	return err
}
