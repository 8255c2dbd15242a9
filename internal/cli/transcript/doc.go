// Package transcript makes a session's history into a document that a person
// can read and keep: Markdown, or one HTML page that needs nothing else.
//
// What agents, tools and people wrote is text to it, never markup: in HTML all
// of it is escaped; in Markdown it can neither leave its place nor fetch
// anything.
package transcript
