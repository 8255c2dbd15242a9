// Package sandboxtest is the conformance suite of sandbox.Driver: what every
// driver must do, seen from the host and from inside its machines.
package sandboxtest
