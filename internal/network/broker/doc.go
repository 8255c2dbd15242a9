// Package broker puts secrets into the HTTP requests of one machine, outside of
// it: it ends the machine's connections to the hosts of its secrets, over TLS
// with certificates of this installation, and has connections of its own to the
// hosts, whose certificates it verifies.
//
// What is replaced: the placeholder by the value in a request's headers, in the
// user and password of "Authorization: Basic", and in the query; the value, as it
// is and in base64, by the placeholder in the headers, the body and the trailers
// of answers. Bodies of requests, and what follows an upgrade to another protocol
// (WebSocket), pass as they are.
package broker
