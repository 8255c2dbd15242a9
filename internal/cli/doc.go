// Package cli is the command line: one file per command, printers for text and
// JSON. It is a client with good manners and knows nothing of the server but
// its public API; what it starts in this process comes in as Hooks.
package cli
