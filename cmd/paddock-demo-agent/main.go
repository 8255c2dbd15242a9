// Command paddock-demo-agent is the agent of `agent: demo`: see package demoagent.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"paddock/internal/demoagent"
)

func main() {
	home, err := os.UserHomeDir()
	if err == nil {
		err = demoagent.Run(os.Stdin, os.Stdout, filepath.Join(home, ".paddock-demo-agent"), os.Exit)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "paddock-demo-agent:", err)
		os.Exit(1)
	}
}
