// Package image makes root file systems of container images: of what a registry
// has, of an OCI layout, of what docker save writes, and of a plain tar of files.
//
// An image is unpacked once, into a folder that all machines share read-only:
//
//	<hex>/root        a machine's "/"; hex is the image's digest
//	<hex>/image.json  what is known of it
//	building-…/       one in the making, or being removed
//
// The digest of an image is that of its configuration, which names the content
// of every layer: the same image has one folder, wherever it came from. That of a
// plain tar is the tar's. What a layer brings is held against its digest, so that
// nobody can put other files under an image's name.
//
// Images come from strangers. No entry of one is written outside its folder,
// whatever its names and links say (see jail); there are no devices in the
// result; and how much it may become is bounded.
package image
