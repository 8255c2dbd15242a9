// Package storetest is the conformance suite of the storage port: every
// sentence of package store's contract is a case here. An implementation calls
// Run from a test; a bug found in one becomes a case first.
package storetest
