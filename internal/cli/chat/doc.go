// Package chat reads a session's events as a conversation: what was said, what
// tools did, what is asked, what waits. It is pure: the same events make the
// same conversation, however often and wherever the stream was cut.
package chat
