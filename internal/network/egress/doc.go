// Package egress decides where a machine may connect to: what the session's spec
// allows, what the operator of the server says for all, and what no machine may
// ever reach. It asks nobody and opens nothing.
package egress
