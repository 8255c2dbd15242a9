// Package screen is the chat on a terminal: a conversation, an input, and the
// keys between them. What it shows is a function of its model alone.
package screen
