package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// sayServe prints what a server would be told.
func sayServe(ctx context.Context, c ServeConfig) error {
	if filepath.Base(c.DataDir) == "stuck" {
		fmt.Fprintln(c.Out, "serving")
		<-ctx.Done()
		fmt.Fprintln(c.Out, "ending")
		select {} // never ends by itself
	}
	fmt.Fprintf(c.Out, "listen=%s data=%s templates=%s max=%d level=%s format=%s token=%s kept=%s\n",
		c.Listen, c.DataDir, c.TemplateDir, c.MaxActiveSessions, c.LogLevel, c.LogFormat, c.Token, c.HistoryRetention)
	return nil
}

// sayDemo misses at its first step when told to keep the folder.
func sayDemo(_ context.Context, c DemoConfig) error {
	if c.Keep {
		return errors.New("a pause uses no CPU: it did")
	}
	fmt.Fprintln(c.Out, "everything held")
	return nil
}

// sayDoctor finds everything well but for a folder called sick.
func sayDoctor(_ context.Context, c DoctorConfig) (bool, error) {
	c.Report(DoctorCheck{Name: "kernel", Status: "ok", Detail: "Linux 6.1 at " + c.URL, TookMS: 1200})
	c.Report(DoctorCheck{Name: "/dev/net/tun", Status: "warning", Detail: "is \x1b[1mnot there", Fix: "modprobe tun"})
	if filepath.Base(c.DataDir) == "sick" {
		c.Report(DoctorCheck{Name: "disk", Status: "failed", Detail: "full", Fix: "make room"})
		return false, nil
	}
	return true, nil
}
