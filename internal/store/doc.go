// Package store is the port of what must survive: sessions, runs, approvals,
// environments, machines' handles, tokens, and each session's history.
//
// All writes go through one writer: Update runs one function at a time, and the
// updates that arrive while a commit is under way are committed together. When
// Update returns nil, what the function wrote is on the disk (fsync), and only
// then may anything be acknowledged or published.
package store
