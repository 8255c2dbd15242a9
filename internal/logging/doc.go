// Package logging lets every line of the log say which call and which session it
// belongs to: contexts carry both, and a slog handler writes them down.
package logging
