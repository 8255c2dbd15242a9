// Package embedded carries the two small programs that Paddock puts into a
// sandbox: the guest daemon and the demo agent, built for this architecture by
// `make generate` into bin/<os>_<arch> of this folder.
package embedded
