// Package doctor looks whether this host can run Paddock: each check says what
// it found and how to mend it, and at the end a sandbox is started to see. It
// knows the server by its program and its public API only, and needs no token.
package doctor

import (
	"context"
	"fmt"
	"time"
)

// How a check went.
const (
	OK      = "ok"
	Warning = "warning" // works, but worse than it could
	Failed  = "failed"  // stops work
	Skipped = "skipped" // could not be looked at
)

// Check is one thing looked at.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail"`        // what was found
	Fix    string `json:"fix,omitempty"` // what to do about it
	TookMS int64  `json:"took_ms"`
}

// Options say what to look at.
type Options struct {
	Exe         string // the paddock program
	Version     string // of the program
	URL         string // of the server that the command line would ask
	TokenFile   string // file that was named for the token; empty: none was
	Listen      string // address of a server to come
	DataDir     string // its folder
	TemplateDir string // of root file systems
	Root        bool   // whoever asks is root
	Report      func(Check)
}

// limit is how long all checks together may take.
const limit = 3 * time.Minute

// doctor is one examination.
type doctor struct {
	Options
	served bool // a server answers already
	ill    int  // failed checks
}

// looking is one check under way.
type looking struct {
	name string
	at   func(ctx context.Context) Check
}

// Run looks at everything and reports each check as it is done. It returns
// whether nothing stops work.
func Run(ctx context.Context, o Options) (well bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d := &doctor{Options: o}
	for _, l := range []looking{
		{"server", d.server}, {"kernel", d.kernel}, {"root", d.root}, {"namespaces", d.namespaces}, {"cgroups", d.cgroups},
		{"/dev/net/tun", d.tun}, {"memory", d.memory}, {"disk", d.disk}, {"template", d.template}, {"data folder", d.folder},
		{"port", d.port}, {"token", d.token}, {"clock", d.clock},
	} {
		d.look(ctx, l)
		if err := ctx.Err(); err != nil {
			return false, err
		}
	}
	if err := d.sandbox(ctx); err != nil {
		return false, err
	}
	return d.ill == 0, nil
}

// look does one check and reports it.
func (d *doctor) look(ctx context.Context, l looking) Check {
	began := time.Now()
	c := l.at(ctx)
	c.Name, c.TookMS = l.name, time.Since(began).Milliseconds()
	if c.Status == Failed {
		d.ill++
	}
	d.Report(c)
	return c
}

func ok(format string, args ...any) Check {
	return Check{Status: OK, Detail: fmt.Sprintf(format, args...)}
}

func skipped(format string, args ...any) Check {
	return Check{Status: Skipped, Detail: fmt.Sprintf(format, args...)}
}

func warning(fix, format string, args ...any) Check {
	return Check{Status: Warning, Fix: fix, Detail: fmt.Sprintf(format, args...)}
}

func failed(fix, format string, args ...any) Check {
	return Check{Status: Failed, Fix: fix, Detail: fmt.Sprintf(format, args...)}
}
