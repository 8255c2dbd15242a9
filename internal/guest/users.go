package guest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// The users of a sandbox.
var (
	agentUser = proc.User{Name: guestapi.AgentUser, Home: guestapi.AgentHome, UID: guestapi.AgentUID, GID: guestapi.AgentGID}
	rootUser  = proc.User{Name: "root", Home: guestapi.RootHome}
)

func (d *Daemon) user(name string) (proc.User, error) {
	switch name {
	case "", d.options.Agent.Name:
		return d.options.Agent, nil
	case d.options.Root.Name:
		return d.options.Root, nil
	}
	return proc.User{}, fault.New(fault.BadRequest, "the user is %q; it is %s or %s", name, d.options.Agent.Name, d.options.Root.Name)
}

// agentUser is who the agent runs as.
func (d *Daemon) agentUser() proc.User {
	if d.asRoot() {
		return d.options.Root
	}
	return d.options.Agent
}

func (d *Daemon) asRoot() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.config != nil && d.config.Agent.Root
}

// environ is the whole environment of a process: nothing of the daemon's own,
// then the session's, then what this one was given.
func environ(u proc.User, dir string, more ...map[string]string) (list []string, path string) {
	env := map[string]string{
		"HOME": u.Home, "USER": u.Name, "LOGNAME": u.Name, "SHELL": shell(u), "PWD": dir,
		"PATH": proc.DefaultPath, "LANG": "C.UTF-8", "TERM": "xterm-256color",
	}
	for _, m := range more {
		maps.Copy(env, m)
	}
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return list, env["PATH"]
}

func shell(u proc.User) string {
	for _, s := range []string{u.Shell, "/bin/bash"} {
		if _, err := os.Stat(s); err == nil && s != "" {
			return s
		}
	}
	return "/bin/sh"
}

// command is something that can be started; the caller adds its files.
func (d *Daemon) command(u proc.User, argv []string, dir string, env ...map[string]string) (proc.Spec, error) {
	if len(argv) == 0 || argv[0] == "" {
		return proc.Spec{}, fault.New(fault.BadRequest, "there is no command")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(d.options.Workspace, dir)
	}
	if info, err := os.Stat(dir); err != nil {
		return proc.Spec{}, fault.Wrap(err, fault.BadRequest, "the folder %q does not exist", dir)
	} else if !info.IsDir() {
		return proc.Spec{}, fault.New(fault.BadRequest, "%q is no folder", dir)
	}
	list, path := environ(u, dir, env...)
	program := proc.LookPath(argv[0], dir, path)
	if program == "" {
		return proc.Spec{}, notFound(argv[0], dir, path)
	}
	return proc.Spec{Path: program, Argv: argv, Dir: dir, Env: list, User: u}, nil
}

func notFound(name, dir, path string) error {
	if filepath.Base(name) != name {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return fault.New(fault.BadRequest, "the program %q does not exist or is not executable", name)
	}
	return fault.New(fault.BadRequest, "the program %q was not found in PATH (%s)", name, path)
}

// startFault says why a command could not be started. What the machine lacks for
// now is nothing that the caller has done wrong.
func startFault(err error, spec proc.Spec) error {
	const late = "%s in the sandbox to start %q; end some of what runs there, or try again later"
	switch {
	case errors.Is(err, unix.EAGAIN):
		return fault.Wrap(err, fault.TooManyRequests, late, "there are too many processes", spec.Path)
	case errors.Is(err, unix.ENOMEM):
		return fault.Wrap(err, fault.TooManyRequests, late, "there is not enough memory", spec.Path)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return fault.Wrap(err, fault.TooManyRequests, late, "there are too many open files", spec.Path)
	}
	return fault.Wrap(err, fault.BadRequest, "%s", fmt.Sprintf("the program %q cannot be started in %q by %s: %v", spec.Path, spec.Dir, spec.User.Name, cause(err)))
}

// cause is the errno behind a failed start, which is what people can act on.
func cause(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}
