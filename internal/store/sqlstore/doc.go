// Package sqlstore keeps everything in a SQL database. It implements the port
// of package store.
//
// There is one set of queries, in the SQL that SQLite and PostgreSQL share
// ($1 parameters, ON CONFLICT, RETURNING, SAVEPOINT); what differs (how to
// connect, the migrations) is a dialect value. SQLite is the only one so far.
//
// Files: a write-ahead log with synchronous=FULL, so that a commit is on the
// disk (fdatasync) when it returns. Writing is group commit: see writer.
package sqlstore
