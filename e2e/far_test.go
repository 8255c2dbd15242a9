package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// far is a host outside: a network namespace that a veth pair joins to this
// host, with an address that no rule keeps from machines. It has servers for
// HTTP (80), TLS (443), echoes over TCP (7) and UDP (7), bytes without end (19),
// names (53), and a scripted model (8901).
type far struct {
	t     *testing.T
	addr  string // of the far host
	near  string // of this host, on the same wire
	model *modelServer

	git http.Handler // of /git/; nil: none

	mu    sync.Mutex
	names map[string]string // that its DNS server knows, with their addresses
	asked []string          // names that it was asked for
	hosts []string          // that its HTTP server was asked for
	seen  []*http.Request   // by it, without bodies

	authorities string // file with its certificate
}

func newFar(t *testing.T) *far {
	t.Helper()
	n := os.Getpid() % 63
	f := &far{t: t, model: &modelServer{}, near: fmt.Sprintf("198.51.100.%d", 4*n+1), addr: fmt.Sprintf("198.51.100.%d", 4*n+2)}
	f.names = map[string]string{"far.test.": f.addr, "www.far.test.": f.addr, "other.test.": f.addr, "inner.test.": f.near}
	veth := &netlink.Veth{LinkAttrs: netlink.NewLinkAttrs(), PeerName: fmt.Sprintf("pdf%d", os.Getpid())}
	veth.Name = fmt.Sprintf("pdn%d", os.Getpid())
	if err := netlink.LinkAdd(veth); err != nil {
		t.Fatalf("make veth pair: %v", err)
	}
	t.Cleanup(func() { _ = netlink.LinkDel(veth) })
	f.up(veth.Name, f.near)
	errs := make(chan error)
	go func() { // the thread ends with it, and the namespace with the sockets
		runtime.LockOSThread()
		errs <- f.begin(veth.PeerName)
	}()
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *far) up(name, addr string) {
	f.t.Helper()
	if err := upLink(name, addr); err != nil {
		f.t.Fatal(err)
	}
}

func upLink(name, addr string) error {
	link, err := netlink.LinkByName(name)
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

// begin moves the thread into the far host and opens its servers there.
func (f *far) begin(device string) error {
	home, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		return err
	}
	defer home.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	there, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		return err
	}
	defer there.Close()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	link, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetNsFd(link, int(there.Fd())); err != nil {
		return err
	}
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := upLink(device, f.addr); err != nil {
		return err
	}
	for port, serve := range map[int]func(net.Conn){
		7:  func(c net.Conn) { _, _ = io.Copy(c, c) },
		19: func(c net.Conn) { _, _ = io.Copy(c, zeros{}) },
		53: f.answerTCP,
	} {
		l, err := f.listen(port)
		if err != nil {
			return err
		}
		go accept(l, serve)
	}
	web, err := f.listen(80)
	if err != nil {
		return err
	}
	secure, err := f.listen(443)
	if err != nil {
		return err
	}
	cert, err := f.certificate()
	if err != nil {
		return err
	}
	if err := f.serveModel(); err != nil {
		return err
	}
	h := &http.Server{Handler: http.HandlerFunc(f.page)}
	f.t.Cleanup(func() { _ = h.Close() })
	go func() { _ = h.Serve(web) }()
	go func() {
		_ = h.Serve(tls.NewListener(secure, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}))
	}()
	for port, answer := range map[int]func([]byte) []byte{7: func(b []byte) []byte { return b }, 53: f.answer} {
		p, err := net.ListenPacket("udp4", net.JoinHostPort(f.addr, strconv.Itoa(port)))
		if err != nil {
			return err
		}
		f.t.Cleanup(func() { _ = p.Close() })
		go func() {
			b := make([]byte, 1<<16)
			for {
				n, from, err := p.ReadFrom(b)
				if err != nil {
					return
				}
				_, _ = p.WriteTo(answer(b[:n]), from)
			}
		}()
	}
	return nil
}

func (f *far) listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort(f.addr, strconv.Itoa(port)))
	if err == nil {
		f.t.Cleanup(func() { _ = l.Close() })
	}
	return l, err
}

func accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() { defer c.Close(); serve(c) }()
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// page answers with what it was asked for; a PUT with how many bytes came, /big
// with 64 MiB, /echo by switching to a protocol that echoes, /quote with the head
// of the request, and below /git/ with a repository.
func (f *far) page(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.hosts = append(f.hosts, r.Host)
	f.seen = append(f.seen, r.Clone(context.Background()))
	f.mu.Unlock()
	switch {
	case f.git != nil && strings.HasPrefix(r.URL.Path, "/git/"):
		f.git.ServeHTTP(w, r)
	case r.URL.Path == "/quote":
		fmt.Fprintf(w, "%s %s\n", r.Proto, r.RequestURI)
		_ = r.Header.Write(w)
	case r.Method == http.MethodPut:
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintln(w, n)
	case r.URL.Path == "/echo":
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, buffered)
	case r.URL.Path == "/big":
		_, _ = io.CopyN(w, zeros{}, 64<<20)
	default:
		fmt.Fprintf(w, "hello %s\n", r.Host)
	}
}

func (f *far) answerTCP(c net.Conn) {
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return
	}
	b := make([]byte, int(length[0])<<8|int(length[1]))
	if _, err := io.ReadFull(c, b); err == nil {
		a := f.answer(b)
		_, _ = c.Write(append([]byte{byte(len(a) >> 8), byte(len(a))}, a...))
	}
}

// answer is what its DNS server says.
func (f *far) answer(question []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(question)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	name := strings.ToLower(q.Name.String())
	f.mu.Lock()
	f.asked = append(f.asked, name)
	addr, known := f.names[name]
	f.mu.Unlock()
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: head.ID, Response: true, RecursionAvailable: true}, Questions: []dnsmessage.Question{q}}
	if !known {
		reply.RCode = dnsmessage.RCodeNameError
	} else if q.Type == dnsmessage.TypeA {
		reply.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 30},
			Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(addr).To4())},
		}}
	}
	b, _ := reply.Pack()
	return b
}

// wasAsked says whether any name that its DNS server was asked for has the text.
func (f *far) wasAsked(part string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Contains(strings.Join(f.asked, " "), part)
}
