package proc

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A caged program sees every file and may write only in some folders. It has a
// mount namespace of its own, in which all else is mounted read-only, and a user
// namespace of its own, so that processes outside, though of the same user, are
// out of its reach: who may not trace a process has no way to its root, its
// folder and its open files either (ptrace(2)). All that it starts is in there
// with it, and nothing leads out: it has no capabilities, and in namespaces that
// it may make itself what is read-only stays so (mount_namespaces(7)).

// A program of root that is the agent's has a user namespace of its own, too,
// with a file system of its own only where it is bound to folders: in there it is
// as much root as root outside is, but for the machine's limits, and nothing that
// it starts gets out.

// cage says what a process is started in.
type cage string

const (
	none  cage = ""
	apart cage = "apart" // a user namespace
	shut  cage = "shut"  // and a mount namespace
)

// order is what a launcher is told.
type order struct {
	Tasks    uint64   `json:"tasks,omitempty"` // task limit; 0: none of its own
	Confine  bool     `json:"confine,omitempty"`
	Writable []string `json:"writable,omitempty"` // see Caged
	Become   bool     `json:"become,omitempty"`   // root of the cage becomes its user
	UID      uint32   `json:"uid,omitempty"`
	GID      uint32   `json:"gid,omitempty"`
	Keep     uint64   `json:"keep,omitempty"` // capabilities of UID 0 there, a bit each
	Dir      string   `json:"dir,omitempty"`  // where to go in the cage
}

// Caged makes spec start its program, as Limited does, in a cage in which only
// these folders (or files) can be written to: absolute paths as Where gives
// them. What is not there any more is an error of the launcher's. /dev and /proc
// stay as they are. Only root's Table can start it.
func (s Spec) Caged(launcher []string, tasks uint64, writable []string) Spec {
	s.cage = shut
	return s.inside(launcher, order{Tasks: tasks, Confine: true, Writable: writable})
}

// Apart makes spec start its program, as Limited does, in a user namespace of its
// own. Only root's Table can start it.
func (s Spec) Apart(launcher []string, tasks uint64) Spec {
	s.cage = apart
	return s.inside(launcher, order{Tasks: tasks})
}

func (s Spec) inside(launcher []string, o order) Spec {
	o.Become, o.UID, o.GID, o.Dir = true, s.User.UID, s.User.GID, s.Dir
	if s.User.UID == 0 {
		o.Keep = usual()
	}
	return s.launched(launcher, o)
}

// usual are the capabilities that root of a cage keeps: those of this process,
// but for the one that has to do with mounts, namespaces and all the rest.
func usual() uint64 {
	sets, err := capabilities()
	if err != nil {
		return 0
	}
	held := uint64(sets[0].Permitted) | uint64(sets[1].Permitted)<<32
	return held &^ (1 << unix.CAP_SYS_ADMIN)
}

func (s Spec) launched(launcher []string, o order) Spec {
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("encode order: %v", err)) // it is made of texts and numbers
	}
	s.Argv = append(append(append([]string{}, launcher...), string(text), s.Path), s.Argv...)
	s.Path = launcher[0]
	return s
}

// confine mounts, from inside, what is to be read-only.
func (o order) confine() error {
	runtime.LockOSThread()
	if err := confine(o.Writable); err != nil {
		return err
	}
	// Where we stand is below the mounts that were made since.
	if err := os.Chdir(o.Dir); err != nil {
		return fmt.Errorf("go to %s: %w", o.Dir, err)
	}
	return nil
}

// become gives the cage's root its user. The calling thread has to execute the
// program: others keep their bounding set.
func (o order) become() error {
	runtime.LockOSThread()
	if o.UID == 0 {
		return dropBoundingSet(o.Keep) // with the program's start the other sets follow
	}
	return become(o.UID, o.GID)
}

// allIDs maps every user and group of a new namespace to the same one outside,
// so that all files have their owners.
var allIDs = []syscall.SysProcIDMap{{Size: 1<<32 - 1}}

// build makes a process start as root of new namespaces, but in the groups of the
// user who it is to become, so that it is of that user's tree from the first.
func (c cage) build(attr *syscall.SysProcAttr, user User) {
	if c == none {
		return
	}
	attr.Cloneflags = unix.CLONE_NEWUSER
	if c == shut {
		attr.Cloneflags |= unix.CLONE_NEWNS
	}
	attr.UidMappings, attr.GidMappings, attr.GidMappingsEnableSetgroups = allIDs, allIDs, true
	attr.Credential = &syscall.Credential{Groups: user.Groups}
}
