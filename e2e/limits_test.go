package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// holdPy opens connections until one is refused, and says how many there are and
// how soon the last one was refused.
const holdPy = `import socket,sys,time
held=[]
while True:
    s=socket.socket(); s.settimeout(8); b=time.time()
    try: s.connect((sys.argv[1],7)); held.append(s)
    except OSError as e: print(len(held), e.__class__.__name__, int((time.time()-b)*1000)); break
held.pop().close()
time.sleep(1)
s=socket.socket(); s.settimeout(8); s.connect((sys.argv[1],7)); print("again")`

// speedPy takes bytes for some seconds, or sends them, and says how many came in
// one.
const speedPy = `import socket,sys,time
s=socket.socket(); s.settimeout(8); s.connect((sys.argv[1], 19 if sys.argv[2]=="down" else 7))
if sys.argv[2]=="up":
    import threading
    def drain():
        while s.recv(1<<16): pass
    threading.Thread(target=drain, daemon=True).start()
def move():
    return len(s.recv(1<<16)) if sys.argv[2]=="down" else s.send(b"x"*(1<<16))
b=time.time()
while time.time()-b<1.5: move()
n=0; b=time.time()
while time.time()-b<4: n+=move()
print(int(n/(time.time()-b)))`

// A session has as many connections and moves as much as its spec says, and the
// server gives no more than its flags say.
func TestNetworkLimits(t *testing.T) {
	needDialers(t)
	f := newFar(t)
	s := startServer(t, "--dns", f.addr, "--pool", "1", "--sandbox-connections", "50")
	s.waitSpares(1)
	made := s.createNoWait("agent: none\nnetwork: {connections: 5, bandwidth: 2MB/s}\n")
	id := made.SessionID
	s.waitStatus(id, "SESSION_STATUS_READY")
	hold := func() {
		t.Helper()
		var n, ms int
		var how, again string
		code, out, said := s.exec(id, "/usr/bin/python3", "-c", holdPy, f.addr)
		fmt.Sscan(out, &n, &how, &ms, &again)
		if code != 0 || n != 5 || how != "ConnectionRefusedError" || ms > 1000 || again != "again" {
			t.Errorf("connections: %q %s", out, said)
		}
	}
	speed := func() {
		t.Helper()
		for _, way := range []string{"down", "up"} {
			code, out, said := s.exec(id, "/usr/bin/python3", "-c", speedPy, f.addr, way)
			var rate float64
			if _, err := fmt.Sscan(out, &rate); code != 0 || err != nil || rate < 1.6e6 || rate > 2.4e6 {
				t.Errorf("%s: %q bytes in a second, want 2e6: %s", way, out, said)
			}
		}
	}
	hold()
	s.waitDenied(id, "the sandbox has too many connections open")
	speed()
	s.kill()
	s.start()
	hold()
	speed()
	wide := s.createNoWait("agent: none\nnetwork: {connections: 51}\n")
	if w := strings.Join(wide.Warnings, "\n"); !strings.Contains(w, "network.connections: 51 is more than the 50 that this server gives a sandbox, which holds") {
		t.Errorf("warnings: %s", w)
	}
}

// What UDP may reach by name it reaches also after the server was started anew,
// though nobody asks for the name again.
func TestUDPToListedHostsAfterARestart(t *testing.T) {
	needDialers(t)
	f := newFar(t)
	s := startServer(t, "--dns", f.addr)
	id := s.create("agent: none\negress: [far.test]\n").SessionID
	s.sh(id, "getent hosts far.test")
	if what, _ := s.dial(id, "udp", f.addr, "7"); what != "connected" {
		t.Fatalf("before: %s", what)
	}
	s.kill()
	s.start()
	eventually(t, "UDP reaches a listed host", func() bool {
		what, _ := s.dial(id, "udp", f.addr, "7")
		return what == "connected"
	})
}
