// Package client speaks Paddock's HTTP API: one method per verb, typed answers,
// and a reader of event streams that resumes by itself.
//
// Wherever a method takes ref, a session's id or its name will do. A refusal or
// failure that the server reports is an *Error; every other error means that
// the server could not be reached or did not answer in full, so a call that
// changes something may or may not have happened. CreateSession and Input find
// that out by themselves.
package client
