// Package demo leads one session through its whole life on a server of its
// own and checks every step against what the host shows: processes, CPU ticks,
// mounts. It knows the server by its program and its public API only.
package demo
