// Package guest is the daemon inside a sandbox, its pid 1: it starts and reaps
// processes, reads files, drives the agent through an adapter, and reports what
// happens to the host over one connection that it dials.
//
// It decides nothing. Whatever is asked for (permission, a question) goes to
// the host as an Ask and waits for the Answer; limits and money are the host's.
//
// What the host asks for goes Daemon → execs, files or turns; what happens
// goes adapter → sink → journal → host. Packages proc, journal and files below
// hold what needs no knowledge of the rest, and adapter/… the agents' protocols.
package guest
