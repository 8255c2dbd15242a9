package main

import (
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"paddock/client"
)

//go:embed network.py
var networkScript string

const (
	networkNear, networkFar = "198.51.100.253", "198.51.100.254"
	networkMiB              = 512 // moved each way in one sample
	networkSamples          = 5
)

// measureNetwork measures TCP to a far host, a namespace at the other end of a
// veth pair: from this host itself over the pair, and from a session, whose
// bytes go through the server and then over the same pair, taking turns.
func measureNetwork(ctx context.Context, s *server, o options, out io.Writer) error {
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		fmt.Fprintf(out, "\nnetwork: not measured: %v\n", err)
		return nil
	}
	say("measuring the network")
	cert, err := farCertificate(filepath.Join(s.dir, "far.pem"))
	if err != nil {
		return err
	}
	stop, err := startFar(cert)
	if err != nil {
		return fmt.Errorf("make a far host: %w", err)
	}
	defer stop()
	sess, err := s.api.CreateSession(ctx, []byte("agent: none\nsize: medium\n"), client.CreateOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = s.remove(context.WithoutCancel(ctx), sess.SessionID) }()
	if err := s.waitReady(ctx, sess.SessionID); err != nil {
		return err
	}
	argv := []string{python, "-c", networkScript, networkFar, strconv.Itoa(networkMiB)}
	var veth, session [4][]float64
	for range min(o.n, networkSamples) {
		text, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
		if err == nil {
			err = addNetwork(&veth, string(text))
		}
		if err != nil {
			return fmt.Errorf("over the veth pair: %w", err)
		}
		r, err := s.api.Exec(ctx, sess.SessionID, client.ExecRequest{Argv: argv, TimeoutSeconds: 300})
		if err == nil && r.ExitCode != 0 {
			err = errors.New(r.Stderr)
		}
		if err == nil {
			err = addNetwork(&session, r.Stdout)
		}
		if err != nil {
			return fmt.Errorf("from the session: %w", err)
		}
	}
	fmt.Fprintf(out, "\nTCP to a host at the other end of a veth pair (medians of %d)\n", len(veth[0]))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tfrom this host\tfrom a session")
	for i, row := range []string{"get, MB/s", "put, MB/s", "round trip, µs", "connect, µs"} {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\n", row, middle(veth[i]), middle(session[i]))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return measureBrokered(ctx, s, o, out)
}

func addNetwork(to *[4][]float64, text string) error {
	var v [4]float64
	if _, err := fmt.Sscan(text, &v[0], &v[1], &v[2], &v[3]); err != nil {
		return fmt.Errorf("read %q: %w", text, err)
	}
	for i := range v {
		to[i] = append(to[i], v[i])
	}
	return nil
}

// middle is the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// startFar makes the far host; stop takes it away.
func startFar(cert tls.Certificate) (stop func(), err error) {
	pair := &netlink.Veth{LinkAttrs: netlink.NewLinkAttrs(), PeerName: "pdbenchfar"}
	pair.Name = "pdbench"
	if err := netlink.LinkAdd(pair); err != nil {
		return nil, err
	}
	var listeners []net.Listener
	stop = func() {
		for _, l := range listeners {
			_ = l.Close()
		}
		_ = netlink.LinkDel(pair)
	}
	failed := make(chan error)
	go func() { // its thread ends with it: it has left this host's namespace
		runtime.LockOSThread()
		listeners, err = farServers(pair.PeerName, cert)
		failed <- err
	}()
	if err = <-failed; err == nil {
		err = bringUp(pair.Name, networkNear)
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// farServers moves the calling thread and the device into a new namespace, and
// listens there.
func farServers(device string, cert tls.Certificate) (all []net.Listener, err error) {
	home, err := netlink.NewHandle()
	if err != nil {
		return nil, err
	}
	defer home.Close()
	link, err := home.LinkByName(device)
	if err != nil {
		return nil, err
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	if err := home.LinkSetNsPid(link, unix.Gettid()); err != nil {
		return nil, err
	}
	if err := bringUp(device, networkFar); err != nil {
		return nil, err
	}
	for port, serve := range map[string]func(net.Conn){
		"7":  func(c net.Conn) { _, _ = io.Copy(c, c) },
		"9":  func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"19": func(c net.Conn) { _, _ = io.Copy(c, endless{}) },
	} {
		l, err := net.Listen("tcp4", net.JoinHostPort(networkFar, port))
		if err != nil {
			return all, err
		}
		all = append(all, l)
		go func() { // ends when the listener is closed
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { defer c.Close(); serve(c) }()
			}
		}()
	}
	l, err := net.Listen("tcp4", networkFar+":443")
	if err != nil {
		return all, err
	}
	go serveHTTPS(l, cert)
	return append(all, l), nil
}

func bringUp(device, addr string) error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	a, err := netlink.ParseAddr(addr + "/30")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, a); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// endless is bytes without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
