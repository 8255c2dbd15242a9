package engine

import (
	"strings"
	"testing"

	"paddock/internal/fault"
	"paddock/internal/policy"
)

// Where no sandbox can keep an agent from writing, none is made for one that has
// to be kept.
func TestFilesystemNobodyKeeps(t *testing.T) {
	h := newHouse(t)
	spec := []byte("agent: none\npermissions: {filesystem: {mode: read-only}}\n")
	const why = "sandboxes of kind stub cannot keep the agent from writing"
	_, _, err := h.CreateSession(t.Context(), h.team, CreateRequest{Spec: spec})
	if !fault.Is(err, fault.NotSupported) || !strings.Contains(err.Error(), "permissions.filesystem.mode is read-only, and "+why) {
		t.Errorf("create: %v", err)
	}
	if all, _, err := h.Sessions(t.Context(), h.team, ListRequest{All: true}); err != nil || len(all) != 0 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
	if _, a, err := h.ValidatePolicy(spec); err != nil || a.Fidelity != policy.Unsupported || a.Reason != why || a.Advice == "" {
		t.Errorf("validate: %+v, %v", a, err)
	}
	if _, a, err := h.ValidatePolicy([]byte("agent: none\n")); err != nil || a.Fidelity != policy.Exact {
		t.Errorf("validate: %+v, %v", a, err)
	}
}
