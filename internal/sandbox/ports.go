package sandbox

import (
	"context"
	"errors"
	"io"
	"net/netip"
)

// Rootfs gives the file systems that machines start from.
type Rootfs interface {
	// Prepare makes the template ready to be used as a root, if it is not yet,
	// and returns where it is. It may take many seconds the first time;
	// progress, when not nil, is called now and then with one short sentence.
	// An unknown template is an error naming those there are.
	Prepare(ctx context.Context, template string, progress func(string)) (Root, error)
}

// Root is a root file system on this host that machines may share read-only.
type Root struct {
	// Path is the folder that is the machine's "/" below its private overlay.
	// It has the mount points /run/paddock, /opt/paddock/bin and
	// /opt/paddock/agents.
	Path string
	// Fingerprint identifies its content; equal fingerprints, equal content.
	Fingerprint string
	// Warnings are sentences for people about what this root lacks here.
	Warnings []string
}

// ErrNoImage reports a digest that no unpacked image has.
var ErrNoImage = errors.New("there is no such image")

// Images keeps root file systems that were unpacked from container images; the
// digest of one is a template's name for Rootfs. All methods are safe for
// concurrent use. Errors that people can do something about are faults.
type Images interface {
	// Name gives the full form of a reference to an image of a registry; one that
	// is none is a fault. It asks nobody.
	Name(ref string) (string, error)

	// Pull unpacks what a registry has under a reference now, unless that image is
	// there already. progress is called now and then with one short sentence.
	Pull(ctx context.Context, ref string, progress func(string)) (Image, error)

	// Import unpacks an archive: an OCI layout as a tar, what docker save writes, or
	// a tar of a root file system, compressed or not. Again is no error.
	Import(ctx context.Context, archive io.Reader, progress func(string)) (Image, error)

	// Image finds an unpacked image; absent is ErrNoImage.
	Image(digest string) (Image, error)

	// Retain removes the images for whose digest keep says false. The caller sees
	// to it that no machine has one of them as its root, and that none is being
	// made that is wanted.
	Retain(keep func(digest string) bool) error
}

// Image is an unpacked image.
type Image struct {
	Digest   string            `json:"digest"`  // sha256: and 64 hexadecimal digits; equal digests, equal files
	Bytes    int64             `json:"bytes"`   // of its files
	Entries  int64             `json:"entries"` // files, folders and links of its layers
	Env      map[string]string `json:"env,omitempty"`
	Warnings []string          `json:"warnings,omitempty"` // sentences for people about what it lacks here
}

// Network gives each machine its network namespace, and what is behind it. All
// methods are safe for concurrent use.
type Network interface {
	// Attach makes the namespace of machine id, fit for a machine to be started
	// in, and returns the path of its namespace file. From then on the machine may
	// connect to where rules say, and its requests get the secrets. Attaching again
	// is no error and gives the same path.
	Attach(ctx context.Context, id string, rules Egress, secrets []Brokered) (nsPath string, err error)

	// Govern replaces the rules and the secrets of an attached machine.
	Govern(ctx context.Context, id string, rules Egress, secrets []Brokered) error

	// Rejoin takes up the network of a running machine that an earlier process of
	// this server attached, with the rules it had, and these secrets. Connections
	// that were open then end soon. A machine whose namespace has nothing to take up
	// stays as it is.
	Rejoin(ctx context.Context, id string, secrets []Brokered) error

	// Leave lets go of a machine's network without removing it: its open
	// connections end, and a later process may Rejoin it. Again is no error.
	Leave(id string) error

	// Detach removes what Attach made. It is idempotent.
	Detach(ctx context.Context, id string) error

	// Authority is the certificate, in PEM, that signs for the hosts of brokered
	// secrets, which machines with such secrets have to trust; nil where no machine
	// can be given any.
	Authority() []byte

	// Warning is the sentence a session's create answer carries about its
	// network; empty when there is nothing to say.
	Warning() string
}

// Egress is where a machine may connect to, and how much. The zero value is
// nowhere.
type Egress struct {
	All   bool           `json:"all,omitempty"`   // everywhere that is open to machines
	Hosts []string       `json:"hosts,omitempty"` // names in lower case, exact or *.suffix
	Nets  []netip.Prefix `json:"nets,omitempty"`  // addresses, names aside
	// Connections is how many may be open at once, and Bandwidth how many bytes may
	// go each way in a second, where that is less than every machine may have; 0: as
	// much as that.
	Connections int   `json:"connections,omitempty"`
	Bandwidth   int64 `json:"bandwidth,omitempty"`
}

// Denial is one attempt of a machine to connect to where it may not.
type Denial struct {
	Protocol string // tcp, udp, dns
	Host     string // the name if one is known, else the address
	Port     int    // 0: none
	Why      string // half a sentence for people
	More     int    // attempts that were refused since and that nothing else told of
}
