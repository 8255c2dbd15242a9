// Package metrics counts and measures what a server does, for a monitoring
// system to read. Labels come from closed sets, so what is kept does not grow
// with use, and no metric names a session, a team or a person. A nil *Metrics
// takes everything and keeps nothing.
package metrics
