// Package daemon assembles a server: configuration in, running parts out. It is
// the only package that names drivers.
package daemon
