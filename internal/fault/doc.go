// Package fault is the closed set of reasons for which Paddock refuses or
// fails, each error being one public sentence that says what to do, and a
// private cause for the log.
package fault
