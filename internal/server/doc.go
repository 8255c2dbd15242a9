// Package server is the HTTP edge: it reads requests strictly, makes one engine
// call for each, and writes the answer as api/openapi.yaml has it.
//
// What is served stands in one table (routes.go, later.go), what a fault looks
// like on the wire in one place (fault.go), what a session, a run and so on
// look like in another (encode.go).
package server
