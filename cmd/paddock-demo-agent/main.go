// Command paddock-demo-agent is the agent of `agent: demo`: see package demoagent.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"paddock/internal/demoagent"
)

func main() {
	home, err := os.UserHomeDir()
	if err == nil {
		if errors.Is(unix.Access(home, unix.W_OK), unix.EROFS) { // permissions.filesystem has it read-only
			home = os.TempDir()
		}
		err = demoagent.Run(os.Stdin, os.Stdout, filepath.Join(home, ".paddock-demo-agent"), os.Exit)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "paddock-demo-agent:", err)
		os.Exit(1)
	}
}
