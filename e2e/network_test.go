package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// denials are what the history says was refused.
func (s *server) denials(id string) string {
	var b strings.Builder
	for _, e := range s.history(id) {
		if e.Kind == "policy.denied" {
			fmt.Fprintf(&b, "%s\n", e.Payload)
		}
	}
	return b.String()
}

// waitDenied waits until the history says that the place was refused.
func (s *server) waitDenied(id, where string) {
	s.t.Helper()
	eventually(s.t, "the history says that "+where+" was refused", func() bool { return strings.Contains(s.denials(id), where) })
}

// dialPy tries a connection from inside and says what came of it, and after how
// many milliseconds.
const dialPy = `import socket,time,sys
b=time.time()
s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM if sys.argv[3]=="udp" else socket.SOCK_STREAM); s.settimeout(8)
try:
    s.connect((sys.argv[1],int(sys.argv[2])))
    if sys.argv[3]=="udp":
        s.send(b"x"); s.recv(100)
    print("connected", end=" ")
except OSError as e: print(e.__class__.__name__, end=" ")
print(int((time.time()-b)*1000))`

func (s *server) dial(id, protocol, host, port string) (what string, ms int) {
	s.t.Helper()
	code, out, said := s.exec(id, "/usr/bin/python3", "-c", dialPy, host, port, protocol)
	if n, _ := fmt.Sscan(out, &what, &ms); code != 0 || n != 2 {
		s.t.Fatalf("dial %s:%s: %d %s %s", host, port, code, out, said)
	}
	return what, ms
}

func (s *server) wantRefused(id, protocol, host, port string) {
	s.t.Helper()
	if what, ms := s.dial(id, protocol, host, port); what != "ConnectionRefusedError" || ms > 1000 {
		s.t.Errorf("%s %s:%s: %s after %d ms, want it refused at once", protocol, host, port, what, ms)
	}
}

// needDialers skips a test where sandboxes, which see this host's system, have
// nothing that dials.
func needDialers(t *testing.T) {
	for _, program := range []string{"/usr/bin/python3", "/usr/bin/curl"} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("%s is not installed, so nothing inside can dial", program)
		}
	}
}

func TestNetwork(t *testing.T) {
	needDialers(t)
	f := newFar(t)
	s := startServer(t, "--dns", f.addr, "--pool", "1")
	s.waitSpares(1)
	spare := s.create("agent: none\nname: spare\n").SessionID
	cold := s.create("agent: none\nname: cold\nsize: medium\n").SessionID
	for _, id := range []string{spare, cold} {
		if got := s.sh(id, "curl -sS -m 20 http://far.test/"); got != "hello far.test\n" {
			t.Errorf("HTTP by name: %q", got)
		}
		if got := s.sh(id, "curl -sS -m 20 -o /dev/null -w '%{size_download}' http://far.test/big"); got != "67108864" {
			t.Errorf("a large download has %s bytes", got)
		}
		if got := s.sh(id, "head -c 50000000 /dev/zero | curl -sS -m 20 -T - http://"+f.addr+"/"); got != "50000000\n" {
			t.Errorf("an upload has %s bytes", got)
		}
		if got := s.sh(id, "curl -sSk -m 20 https://far.test/"); got != "hello far.test\n" {
			t.Errorf("HTTPS: %q", got)
		}
		if got := s.sh(id, "getent ahosts far.test | cut -d' ' -f1 | sort -u"); got != f.addr+"\n" {
			t.Errorf("far.test is %q", got)
		}
		if what, _ := s.dial(id, "udp", f.addr, "7"); what != "connected" {
			t.Errorf("UDP: %s", what)
		}
		if code, _, _ := s.exec(id, "sh", "-c", "time getent hosts nobody.test"); code != 2 {
			t.Errorf("a name that does not exist: getent exits with %d", code)
		}
	}
	t.Run("echo", func(t *testing.T) {
		const ping = `import socket,sys
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM,socket.IPPROTO_ICMP); s.settimeout(2)
s.sendto(b"\x08\x00\x00\x00\x00\x01\x00\x01hi",(sys.argv[1],0)); print(s.recv(100)[0])`
		if code, out, said := s.exec(cold, "/usr/bin/python3", "-c", ping, "10.0.2.2"); code != 0 || out != "0\n" {
			t.Errorf("echo to the gateway: %d %q %s", code, out, said)
		}
		if code, out, _ := s.exec(cold, "/usr/bin/python3", "-c", ping, f.addr); code == 0 {
			t.Errorf("an echo to somebody else was answered: %s", out)
		}
	})
	t.Run("closed", func(t *testing.T) {
		_, port, _ := net.SplitHostPort(s.addr)
		for _, where := range [][2]string{
			{"10.0.2.2", port}, {f.near, port}, {f.near, "22"}, {"169.254.169.254", "80"}, {"100.100.100.200", "80"}, {"168.63.129.16", "80"},
			{"10.1.2.3", "80"}, {"192.168.1.1", "443"}, {"172.16.0.1", "22"}, {"10.0.2.16", "80"}, {"0.1.2.3", "80"},
		} {
			s.wantRefused(cold, "tcp", where[0], where[1])
			s.waitDenied(cold, where[0]+":"+where[1])
		}
		s.wantRefused(cold, "udp", "169.254.169.254", "53")
		if code, out, _ := s.exec(cold, "curl", "-sS", "-m", "5", "http://inner.test:"+port+"/healthz"); code == 0 {
			t.Errorf("a name for this host leads to the server: %s", out)
		}
		if what, ms := s.dial(cold, "tcp", f.addr, "1"); what != "ConnectionRefusedError" || ms > 1000 {
			t.Errorf("a port where nobody listens: %s after %d ms", what, ms)
		}
	})
	t.Run("no IPv6", func(t *testing.T) {
		code, out, _ := s.exec(cold, "/usr/bin/python3", "-c", `import socket,time
b=time.time()
try: socket.create_connection(("2001:db8::1",80),8)
except OSError as e: print(e.__class__.__name__, time.time()-b<1)`)
		if code != 0 || !strings.Contains(out, "True") {
			t.Errorf("IPv6: %d %s", code, out)
		}
	})
	t.Run("denials are few", func(t *testing.T) {
		before := strings.Count(s.denials(cold), "\n")
		s.exec(cold, "bash", "-c", `for i in $(seq 200); do (exec 3<>/dev/tcp/10.9.9.9/99) 2>/dev/null; done; true`)
		s.waitDenied(cold, "10.9.9.9:99")
		if n := strings.Count(s.denials(cold), "\n") - before; n > 2 {
			t.Errorf("200 attempts at one place wrote %d events", n)
		}
	})
}

func TestEgress(t *testing.T) {
	needDialers(t)
	f := newFar(t)
	s := startServer(t, "--dns", f.addr, "--egress-deny", "*.denied.test", "--pool", "1")
	f.names["a.denied.test."] = f.addr
	s.waitSpares(1)
	id := s.create("agent: none\negress: [far.test, \"*.far.test\"]\n").SessionID
	for _, name := range []string{"far.test", "www.far.test"} {
		if got := s.sh(id, "curl -sS -m 20 http://"+name+"/ && curl -sSk -m 20 https://"+name+"/"); got != strings.Repeat("hello "+name+"\n", 2) {
			t.Errorf("a listed host says %q", got)
		}
	}
	if code, _, said := s.exec(id, "curl", "-sS", "-m", "5", "http://other.test/"); code != 6 {
		t.Errorf("a host that is not listed: curl exits with %d: %s", code, said)
	}
	s.waitDenied(id, "other.test")
	s.exec(id, "getent", "hosts", "secret.exfil.test")
	if f.wasAsked("exfil") || f.wasAsked("other") {
		t.Errorf("refused names were asked for outside: %v", f.asked)
	}
	t.Run("names have to agree", func(t *testing.T) {
		for _, url := range []string{"http://other.test/", "https://other.test/"} {
			port := map[bool]string{true: "443", false: "80"}[strings.HasPrefix(url, "https")]
			code, out, _ := s.exec(id, "curl", "-sSk", "-m", "5", "--resolve", "other.test:"+port+":"+f.addr, url)
			if code == 0 || code == 28 {
				t.Errorf("%s at the address of a listed host: %d %s", url, code, out)
			}
			s.waitDenied(id, "other.test:"+port)
		}
		// A second request on a connection that began well; and other ways to have a
		// server read what the gate did not.
		for request, answers := range map[string]string{
			`GET / HTTP/1.1\r\nHost: far.test\r\n\r\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n`:                                      "1\n",
			`GET / HTTP/1.1\r\nHost: far.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n`: "1\n",
			`PROPFIND / HTTP/1.1\r\nHost: other.test\r\n\r\n`:                                                                         "0\n",
			`GET / HTTP/1.1\nHost: other.test\nX: 1\r\nX: far.test\r\n\r\n`:                                                           "0\n",
			`\r\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n`:                                                                          "0\n",
			`GET / HTTP/1.1\r\nX: 1\nHost: other.test\nY: far.test\r\n\r\n\r\n`:                                                       "0\n",
		} {
			_, got, _ := s.exec(id, "bash", "-c", `exec 3<>/dev/tcp/far.test/80; printf '`+request+`' >&3; timeout 5 cat <&3 | tr -d '\r' | grep -c hello`)
			if got != answers {
				t.Errorf("%s: %s requests were answered", request, got)
			}
		}
		_, got, _ := s.exec(id, "bash", "-c", `exec 3<>/dev/tcp/far.test/80; printf 'GET /echo HTTP/1.1\r\nHost: far.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly\n' >&3; sed -u '/^\r$/q' <&3 >/dev/null; echo late >&3; head -n 2 <&3`)
		if got != "early\nlate\n" {
			t.Errorf("through a connection that switched protocols came %q", got)
		}
		for _, host := range f.hosts {
			if host == "other.test" {
				t.Error("a request for another host came through")
			}
		}
	})
	s.wantRefused(id, "udp", f.addr, "443")
	s.wantRefused(id, "tcp", "203.0.113.9", "80")

	t.Run("by address", func(t *testing.T) {
		id := s.create("agent: none\negress: {allow_ips: [" + f.addr + "]}\n").SessionID
		if got := s.sh(id, "curl -sS -m 20 http://"+f.addr+"/"); got != "hello "+f.addr+"\n" {
			t.Errorf("a listed address says %q", got)
		}
		if code, _, _ := s.exec(id, "curl", "-sS", "-m", "5", "http://far.test/"); code != 6 {
			t.Errorf("a name, where none is listed: %d", code)
		}
		made := s.createNoWait("agent: none\negress: {allow_ips: [" + f.addr + ", 127.0.0.1, 10.0.0.0/8]}\n")
		if got := strings.Join(made.Warnings, "\n"); !strings.Contains(got, "egress.allow_ips: 127.0.0.1 stays closed: it is the loopback") ||
			!strings.Contains(got, "egress.allow_ips: 10.0.0.0/8 stays closed: it is private") || strings.Contains(got, f.addr) {
			t.Errorf("of addresses that stay closed it is warned with %q", got)
		}
		id = s.create("agent: none\negress: [" + "far.test" + "]\n").SessionID
		// Nothing asked for the name in this sandbox; the gate does.
		if what, _ := s.dial(id, "tcp", f.addr, "7"); what != "connected" {
			t.Errorf("an address of a listed name that was not looked up inside: %s", what)
		}
	})
	t.Run("the operator's word is above all", func(t *testing.T) {
		id := s.create("agent: none\negress: unrestricted\n").SessionID
		if code, _, _ := s.exec(id, "curl", "-sS", "-m", "5", "http://a.denied.test/"); code != 6 {
			t.Errorf("a host that the operator denies: %d", code)
		}
		if got := s.sh(id, "curl -sS -m 20 http://other.test/"); got != "hello other.test\n" {
			t.Errorf("another host says %q", got)
		}
	})
}

// idlePy reads from a connection over which nothing comes, and says how it ended.
const idlePy = `import socket,sys
s=socket.create_connection((sys.argv[1],7)); s.send(b"\0"); s.recv(1)
open("/tmp/up","w").write("x")
try: r=repr(s.recv(1))
except OSError as e: r=e.__class__.__name__
open("/tmp/ended","w").write(r)`

func TestNetworkSurvives(t *testing.T) {
	needDialers(t)
	f := newFar(t)
	s := startServer(t, "--dns", f.addr)
	sess := s.create("agent: none\negress: [far.test]\nname: one\n")
	id, ctx := sess.SessionID, t.Context()
	reach := func(when string) {
		t.Helper()
		if code, out, said := s.exec(id, "curl", "-sS", "-m", "20", "http://far.test/"); out != "hello far.test\n" {
			t.Errorf("%s: curl exits with %d: %q %s", when, code, out, said)
		}
		s.wantRefused(id, "tcp", "203.0.113.9", "80")
	}
	reach("at first")
	idle := func() {
		t.Helper()
		s.sh(id, "rm -f /tmp/up /tmp/ended; setsid /usr/bin/python3 -c '"+idlePy+"' "+f.addr+" >/dev/null 2>&1 </dev/null & for i in $(seq 100); do [ -e /tmp/up ] && exit 0; sleep 0.1; done; exit 1")
	}
	ended := func(when string) {
		t.Helper()
		begun := time.Now()
		s.waitExec(id, "cat /tmp/ended 2>/dev/null; true", "ConnectionResetError")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: an idle reader ended only after %s", when, took)
		}
	}

	idle()
	if _, err := s.client().HostedAgents.PauseSession(ctx, id); err != nil {
		t.Fatal(err)
	}
	s.waitStatus(id, godo.HostedAgentSessionStatusPaused)
	reach("after a pause")
	if out := s.sh(id, "cat /tmp/ended 2>/dev/null; true"); out != "" {
		t.Errorf("a pause ended an idle connection: %s", out)
	}

	s.kill()
	s.restart()
	ended("after kill -9")
	reach("after kill -9")

	idle()
	s.stop()
	s.restart()
	ended("after a stop")
	reach("after a stop")

	idle()
	if _, err := s.client().HostedAgents.PauseSession(ctx, id); err != nil {
		t.Fatal(err)
	}
	s.waitStatus(id, godo.HostedAgentSessionStatusPaused)
	s.kill()
	s.restart()
	reach("after kill -9 while paused")
	ended("after kill -9 while paused")

	killMachine(t, s.get(id).SandboxID)
	eventually(t, "it has another sandbox", func() bool { return s.get(id).SandboxID != sess.SandboxID })
	s.waitStatus(id, godo.HostedAgentSessionStatusReady)
	reach("restored")

	if _, err := s.client().HostedAgents.DestroySession(ctx, id); err != nil {
		t.Fatal(err)
	}
	s.waitStatus(id, godo.HostedAgentSessionStatusDestroyed)
	if left, _ := os.ReadDir(filepath.Join(s.dir, "netns")); len(left) > 0 {
		t.Errorf("left of the network: %v", left)
	}
	if n := s.taps(); n > 0 {
		t.Errorf("the server holds %d TAP devices open", n)
	}
}

// taps counts the TAP devices that the server holds.
func (s *server) taps() (n int) {
	folder := fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		if to, _ := os.Readlink(filepath.Join(folder, e.Name())); to == "/dev/net/tun" {
			n++
		}
	}
	return n
}
