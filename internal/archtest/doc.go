// Package archtest holds tests of the repository's shape: which package may
// import which, how files and packages look, what the guest is made of. It
// uses the standard library and the go command only.
package archtest
