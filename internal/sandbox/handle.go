package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
)

// HandleVersion is the version of the Handle document this build writes. A
// build reads its own version and older ones.
const HandleVersion = 1

// ErrNewer reports a handle that a newer version of Paddock wrote: an older
// server must not touch machines that it does not understand.
var ErrNewer = errors.New("start the newer version that wrote it")

// Handle names a machine so that a later process can find, drive or remove it.
// It is stored before the machine is started. Only Driver may look into State.
type Handle struct {
	Version int             `json:"version"`
	Driver  string          `json:"driver"`  // Driver.Name
	ID      string          `json:"id"`      // Spec.ID
	Runtime string          `json:"runtime"` // digest of the runtime the machine is driven by
	State   json.RawMessage `json:"state,omitempty"`
}

// Encode gives the handle as the JSON document that is stored.
func (h Handle) Encode() ([]byte, error) { return json.Marshal(h) }

// DecodeHandle reads a stored handle. A version newer than HandleVersion is
// ErrNewer.
func DecodeHandle(b []byte) (Handle, error) {
	var h Handle
	if err := json.Unmarshal(b, &h); err != nil {
		return Handle{}, fmt.Errorf("decode sandbox handle: %w", err)
	}
	if h.Version > HandleVersion {
		return Handle{}, fmt.Errorf("the sandbox handle has version %d, this version of Paddock knows up to %d: %w", h.Version, HandleVersion, ErrNewer)
	}
	if h.Version < 1 {
		return Handle{}, fmt.Errorf("sandbox handle has version %d", h.Version)
	}
	return h, nil
}
