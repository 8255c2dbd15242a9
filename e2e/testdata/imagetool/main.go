// The only program of the images that the tests make: static, and it needs nothing.
package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func main() {
	switch what := os.Args[1]; what {
	case "cat":
		text, err := os.ReadFile(os.Args[2])
		must(err)
		os.Stdout.Write(text)
	case "write":
		must(os.WriteFile(os.Args[2], []byte(os.Args[3]), 0o644))
	case "env":
		fmt.Println(os.Getenv(os.Args[2]))
	case "stat":
		var s unix.Stat_t
		must(unix.Lstat(os.Args[2], &s))
		fmt.Printf("%o %d:%d\n", s.Mode&0o7777, s.Uid, s.Gid)
	case "attr":
		value := make([]byte, 1000)
		n, err := unix.Lgetxattr(os.Args[2], os.Args[3], value)
		must(err)
		fmt.Printf("%x\n", value[:n])
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
