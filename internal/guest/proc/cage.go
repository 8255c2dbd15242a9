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

// order is what a launcher is told.
type order struct {
	Tasks    uint64   `json:"tasks,omitempty"` // task limit; 0: none of its own
	Caged    bool     `json:"caged,omitempty"`
	Writable []string `json:"writable,omitempty"` // see Caged
	UID      uint32   `json:"uid,omitempty"`      // who to become in the cage
	GID      uint32   `json:"gid,omitempty"`
	Dir      string   `json:"dir,omitempty"` // where to go in the cage
}

// Caged makes spec start its program, as Limited does, in a cage in which only
// these folders (or files) can be written to: absolute paths as Where gives
// them. What is not there any more is an error of the launcher's. /dev and /proc
// stay as they are. Only root's Table can start it.
func (s Spec) Caged(launcher []string, tasks uint64, writable []string) Spec {
	s.caged = true
	return s.launched(launcher, order{Tasks: tasks, Caged: true, Writable: writable, UID: s.User.UID, GID: s.User.GID, Dir: s.Dir})
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

// enterCage finishes, from inside, the cage that a launcher was started in. The
// calling thread has to execute the program: others keep their bounding set.
func (o order) enterCage() error {
	runtime.LockOSThread()
	if err := confine(o.Writable); err != nil {
		return err
	}
	if err := become(o.UID, o.GID); err != nil {
		return err
	}
	// Where we stand is below the mounts that were made since.
	if err := os.Chdir(o.Dir); err != nil {
		return fmt.Errorf("go to %s: %w", o.Dir, err)
	}
	return nil
}

// allIDs maps every user and group of a new namespace to the same one outside,
// so that all files have their owners.
var allIDs = []syscall.SysProcIDMap{{Size: 1<<32 - 1}}

// cage makes a process start as root of new namespaces, but in the groups of the
// user who it is to become, so that it is of that user's tree from the first.
func cage(attr *syscall.SysProcAttr, user User) {
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	attr.UidMappings, attr.GidMappings, attr.GidMappingsEnableSetgroups = allIDs, allIDs, true
	attr.Credential = &syscall.Credential{Groups: user.Groups}
}
