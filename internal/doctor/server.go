package doctor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"paddock/client"
	"paddock/internal/clientcontext"
)

// server asks the server of the command line for its health, which needs no
// token.
func (d *doctor) server(ctx context.Context) Check {
	c, err := client.New(d.URL, "", client.Options{})
	if err != nil {
		return failed("name another with --url or PADDOCK_URL", "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	health, err := c.Health(ctx)
	if err != nil {
		return ok("none answers at %s; 'paddock serve' starts one", d.URL)
	}
	d.served = true
	if health.Version != d.Version {
		return warning("restart it with this program; sandboxes live on", "%s at %s, but this program is %s", health.Version, d.URL, d.Version)
	}
	return ok("%s at %s", health.Version, d.URL)
}

// port says whether a server to come finds its address free.
func (d *doctor) port(ctx context.Context) Check {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", d.Listen)
	switch {
	case err == nil:
		l.Close()
		return ok("%s is free", d.Listen)
	case errors.Is(err, unix.EADDRINUSE) && d.served && d.URL == "http://"+d.Listen:
		return ok("%s is the server's", d.Listen)
	case errors.Is(err, unix.EADDRINUSE):
		return warning("stop it, or choose another address with --listen", "%s is in use by another program", d.Listen)
	}
	return failed("choose another address with --listen", "%v", err)
}

// token looks at the files where the command line finds URL and token: the one
// that was named, else those where it looks by itself.
func (d *doctor) token(context.Context) Check {
	places := clientcontext.Here()
	names := []string{places.Person, filepath.Join(places.System, "token")}
	if d.TokenFile != "" {
		names = []string{d.TokenFile}
	}
	found := ""
	for _, name := range names {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil && d.TokenFile != "" {
			return warning("start the server that writes it, or name another file", "cannot be read: %v", err)
		}
		if err != nil {
			continue
		}
		if info.Mode().Perm()&0o007 != 0 {
			return warning("chmod o= "+name, "%s can be read by anybody on this machine", name)
		}
		if f, err := os.Open(name); err != nil {
			return warning("be root or in group "+clientcontext.Group+", or use 'paddock login'", "%s cannot be read by you", name)
		} else {
			f.Close()
		}
		if found == "" {
			found = name
		}
	}
	switch {
	case d.TokenFile == "" && os.Getenv("PADDOCK_TOKEN") != "":
		return ok("in PADDOCK_TOKEN")
	case found == "":
		return ok("none is kept here; 'paddock serve' makes one, 'paddock login' takes one")
	}
	return ok("in %s", found)
}
