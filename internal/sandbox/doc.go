// Package sandbox is the port of an isolated machine: what Paddock asks of an
// isolation technology, and nothing of any particular one.
//
// Three ports meet here. A Driver makes machines and finds them again after a
// restart; a Rootfs gives it the file system a machine starts from; a Network
// gives it the network namespace a machine lives in. The guest (our daemon
// inside the machine) is reached over Machine.Control and spoken to with
// package guestapi; no driver knows what is said there.
//
// The order that survives a killed server is always the same: Driver.Plan
// computes a Handle without touching the host, the engine stores it, then
// Driver.Start acts. Whatever was half made can be removed with the handle
// alone, by Driver.Destroy, at any time and any number of times.
package sandbox
