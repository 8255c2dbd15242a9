// Command testguest is pid 1 of the machines of the conformance suite: it dials
// the host, shows the secret and does what package sandboxtest asks, one JSON
// document a line. Started with arguments it is one of its own children.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// request and answer are the same as package sandboxtest's.
type request struct {
	Op   string
	UID  uint32
	Pid  int
	Args []string
}

type answer struct {
	Secret string
	Pid    int
	Code   int
	Output string
	Ticks  int64
	Error  string
}

// ticks counts the milliseconds that this process has run.
var ticks atomic.Int64

func main() {
	if len(os.Args) > 1 {
		child(os.Args[1], os.Args[2:])
		return
	}
	go func() {
		for range time.Tick(time.Millisecond) {
			ticks.Add(1)
		}
	}()
	for {
		if conn, err := net.Dial("unix", "/run/paddock/control/host.sock"); err == nil {
			serve(conn)
			conn.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func serve(conn net.Conn) {
	secret, err := os.ReadFile("/run/paddock/control/secret")
	if err != nil {
		return
	}
	out := json.NewEncoder(conn)
	if out.Encode(answer{Secret: string(secret)}) != nil {
		return
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil || out.Encode(do(r)) != nil {
			return
		}
	}
}

func do(r request) (a answer) {
	switch r.Op {
	case "ticks":
		a.Ticks = ticks.Load()
	case "spawn":
		cmd := command(r)
		if err := cmd.Start(); err != nil {
			a.Error = err.Error()
			return a
		}
		a.Pid = cmd.Process.Pid
		go cmd.Wait()
	case "run":
		cmd := command(r)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			a.Error = err.Error()
		}
		a.Output = out.String()
		if cmd.ProcessState != nil {
			a.Code = cmd.ProcessState.ExitCode()
		}
	case "alive":
		if err := syscall.Kill(r.Pid, 0); err != nil {
			a.Error = err.Error()
		}
	case "exit":
		os.Exit(7)
	default:
		a.Error = "unknown op " + r.Op
	}
	return a
}

// command runs Args as UID; Args[0] "self" is this program.
func command(r request) *exec.Cmd {
	name := r.Args[0]
	if name == "self" {
		name = "/proc/self/exe"
	}
	cmd := exec.Command(name, r.Args[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if r.UID != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: r.UID, Gid: r.UID}
	}
	return cmd
}

// forever sleeps; an empty select would be a deadlock to Go's runtime.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func child(what string, args []string) {
	switch what {
	case "sleep":
		forever()
	case "stop": // pid 1
		if err := syscall.Kill(1, syscall.SIGSTOP); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "burn":
		for {
		}
	case "alloc": // MiB
		mib, _ := strconv.Atoi(args[0])
		var held [][]byte
		for range mib {
			page := make([]byte, 1<<20)
			for i := 0; i < len(page); i += 4096 {
				page[i] = 1
			}
			held = append(held, page)
		}
		fmt.Println(len(held))
		forever()
	case "read": // one line a path: its content, or why not
		for _, path := range args {
			text, err := os.ReadFile(path)
			if err != nil {
				fmt.Printf("! %v\n", err)
				continue
			}
			fmt.Printf("%q\n", text)
		}
	case "write":
		if err := os.WriteFile(args[0], []byte(args[1]), 0o644); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "fill": // path, MiB
		mib, _ := strconv.Atoi(args[1])
		if err := os.WriteFile(args[0], []byte(strings.Repeat("x", mib<<20)), 0o600); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "remove":
		if err := os.Remove(args[0]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "stat": // one line a path: mode uid:gid, or why not
		for _, path := range args {
			info, err := os.Lstat(path)
			if err != nil {
				fmt.Printf("! %v\n", err)
				continue
			}
			st := info.Sys().(*syscall.Stat_t)
			fmt.Printf("%o %d:%d\n", st.Mode&0o7777, st.Uid, st.Gid)
		}
	case "connect":
		if _, err := net.Dial("unix", args[0]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "status": // capabilities and the like
		text, _ := os.ReadFile("/proc/self/status")
		os.Stdout.Write(text)
	case "hostname":
		name, _ := os.Hostname()
		fmt.Println(name)
	case "rename":
		if err := syscall.Sethostname([]byte(args[0])); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "interfaces":
		all, _ := net.Interfaces()
		for _, i := range all {
			fmt.Println(i.Name, i.Flags)
		}
	default:
		os.Exit(2)
	}
}
