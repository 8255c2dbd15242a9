// Package runtimes keeps every build of Paddock whose machines may still live.
//
// A machine outlives the server that started it, and the version of it: it goes
// on with the guest it was made with, and its kernel understands the gVisor it
// was made with. So each build that serves a data folder is kept there, in a
// folder named by the digest of its program:
//
//	<digest>/manifest.json  what a later version has to know of it
//	<digest>/paddock        the program, a hard link of it where that is possible
//	<digest>/bin/           what its machines see at /opt/paddock/bin
//
// Builds older than this package left only the content of bin, in the folder
// itself.
package runtimes
