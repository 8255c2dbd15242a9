// Package gvisor runs machines on gVisor, a kernel in user space, embedded in
// this very binary: no download, no KVM.
//
// The control of machines is in process (gVisor's runsc libraries); only a
// machine's own two processes, its kernel ("boot") and its file server
// ("gofer"), are spawned, and they are this binary again: see IsRunsc. Both
// carry the machine's own state folder in their command line, so that they can
// be found whatever was lost.
//
// Everything of a machine on disk lives in one folder, <Root>/<id>:
//
//	handle.json   copy of the handle, so that Leftovers needs no store
//	bundle/       config.json, the machine as an OCI runtime spec
//	runsc/        state root of the runsc libraries, with the kernel's socket
//	upper/        where the writable layer is made (one file without a name)
//	run/          mounted read-only at /run/paddock: identity, socket, secret
//	status        running, pausing, paused or resuming; absent until started
//
// Outside of it there are only its network namespace (made by the Network) and
// its control groups (see groupParent).
package gvisor
