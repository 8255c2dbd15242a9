// Package template makes the root file systems that machines start from.
//
// A template whose name is a digest is an image that was unpacked before; see the
// package image. The other one is "host": an allow-listed view of this machine's
// own system, pinned as a farm of hard links, so that what is installed or
// removed on the host later neither shows in a running machine nor breaks it.
// No data is copied. Beside the links there are a few composed files, among
// them an /etc of its own; nothing else of the host exists in it.
//
// Farms are kept in one folder that all servers of this host may share:
//
//	host-<fingerprint>/       a whole farm; it is a machine's "/"
//	host-<fingerprint>.lock   held, shared, by each server that uses it
//	building-…/               a farm in the making, or being removed
//	lock                      held by who builds or removes
package template
