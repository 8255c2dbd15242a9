// Package clientcontext is where the server and the command line of one
// machine find each other: the server writes its URL and token there, the
// command line reads them, so that it works at once.
//
// As root the place is /etc/paddock (files `url` and `token`, the latter
// readable by group paddock where that group exists), for anybody else
// client.json in the person's configuration folder. A server with a data
// folder of its own writes client.json into that folder only; PADDOCK_CONTEXT
// names such a file.
package clientcontext
