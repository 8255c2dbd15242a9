// Package recovery keeps, for each session, the newest good copy of its files
// on this host's disk: its recovery point.
//
// A point is a folder <root>/<session>/<number>, with the files as the sandbox
// driver saved them and a manifest that names each with its size and digest. It
// is made beside its final name, synced and then renamed, and the one before is
// removed only after that: whenever the power fails, the newest point that there
// is a folder of is whole, and one that was damaged later is refused before
// anything starts from it.
package recovery
