// Package session holds what a session and a run are: their fields, their
// states as tables, and their names. It is pure: nothing here does anything.
package session
