// Package trial runs the program as a server of our own and looks for what is
// left of it on this host: processes, mounts, control groups.
package trial
