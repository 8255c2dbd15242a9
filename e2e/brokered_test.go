package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// toldSecret is what the far host knows us by.
const toldSecret = "kx8-brazen+otter/meadow=41q-thicket"

// asInside are programs that send the placeholder, each in its own way, with what
// has to arrive in the Authorization header.
var asInside = []struct{ name, needs, line, want string }{
	{"curl", "/usr/bin/curl", `curl -sS -m 30 -H "Authorization: Bearer $KEY" https://api.far.test/quote`, "Bearer " + toldSecret},
	{"curl, HTTP/1.1", "/usr/bin/curl", `curl -sS -m 30 --http1.1 -u "me:$KEY" https://api.far.test/quote`, basicOf("me:" + toldSecret)},
	{"curl, no TLS", "/usr/bin/curl", `curl -sS -m 30 -H "Authorization: Bearer $KEY" http://api.far.test/quote`, "Bearer " + toldSecret},
	{"python", "/usr/bin/python3", `/usr/bin/python3 -c 'import os,urllib.request as u
print(u.urlopen(u.Request("https://api.far.test/quote",headers={"Authorization":"token "+os.environ["KEY"]}),timeout=30).read().decode())'`, "token " + toldSecret},
	{"python, requests", "/usr/lib/python3/dist-packages/pip/_vendor/requests", `/usr/bin/python3 -c 'import os
from pip._vendor import requests
print(requests.get("https://api.far.test/quote",auth=("me",os.environ["KEY"]),timeout=30).text)'`, basicOf("me:" + toldSecret)},
	{"node", "/usr/bin/node", `/usr/bin/node -e 'fetch("https://api.far.test/quote",{headers:{Authorization:"Bearer "+process.env.KEY}}).then(r=>r.text()).then(t=>console.log(t))'`, "Bearer " + toldSecret},
}

func basicOf(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }

// reachBrokered has programs of a session send the placeholder to the far host.
func (s *server) reachBrokered(f *far, id, when string) {
	s.t.Helper()
	for _, c := range asInside {
		if _, err := os.Stat(c.needs); err != nil {
			s.t.Logf("%s is not installed: not tried", c.name)
			continue
		}
		code, out, said := s.exec(id, "sh", "-c", c.line)
		if code != 0 || !strings.Contains(out, "/quote") {
			s.t.Errorf("%s, %s: %d %q %s", when, c.name, code, out, said)
			continue
		}
		if got := f.last("/quote").Header.Get("Authorization"); got != c.want {
			s.t.Errorf("%s, %s: %q arrives", when, c.name, got)
		}
		s.assertWithout(when+", what "+c.name+" was answered", []byte(out), toldSecret)
	}
}

// TestBrokered: the value arrives at its host, and is nowhere in the sandbox.
func TestBrokered(t *testing.T) {
	needDialers(t)
	f := newFar(t)
	f.names["api.far.test."], f.names["wrong.test."] = f.addr, f.addr
	bareRepo(t, filepath.Join(f.gitServer(t, "me", toldSecret), "private", "repo.git"))
	s := startServer(t, "--dns", f.addr, "--upstream-ca", f.authorities, "--pool", "1")
	s.waitSpares(1)
	secrets := "secrets:\n  KEY: {value: '" + toldSecret + "', host: api.far.test}\n  WRONG: {value: '" + toldSecret + "x', host: wrong.test}\n"
	one := s.create("agent: demo\nname: one\npermissions: {default: allow}\n" + secrets)
	cold := s.create("agent: none\nname: cold\nsize: medium\negress: [api.far.test]\n" + secrets)
	id, placeholder := one.SessionID, s.sh(one.SessionID, `printf %s "$KEY"`)

	for _, sess := range []*godo.HostedAgentSession{one, cold} {
		s.reachBrokered(f, sess.SessionID, sess.Name)
	}
	if got := f.last("/quote"); got.URL.RawQuery != "" {
		t.Errorf("a query was made up: %s", got.URL)
	}
	s.sh(id, `curl -sS -m 30 "https://api.far.test/a%2Fb?key=$KEY&x=%zz"`)
	if got := f.last("/a/b").RequestURI; got != "/a%2Fb?key=kx8-brazen%2Botter%2Fmeadow%3D41q-thicket&x=%zz" {
		t.Errorf("asked for %s", got)
	}
	t.Run("git", func(t *testing.T) {
		if got := s.sh(id, `cd /tmp && git clone -q "https://me:$KEY@api.far.test/git/private/repo.git" r && cat r/file`); got != "one\ntwo\nthree\n" {
			t.Errorf("the clone has %q", got)
		}
	})
	t.Run("large", func(t *testing.T) {
		if got := s.sh(id, `head -c 300000000 /dev/zero | curl -sS -m 120 -T - -H "X-Key: $KEY" https://api.far.test/up`); got != "300000000\n" {
			t.Errorf("%s bytes arrived", got)
		}
		if got := f.last("/up").Header.Get("X-Key"); got != toldSecret {
			t.Errorf("with it came %q", got)
		}
		if got := s.sh(id, `curl -sS -m 120 -o /dev/null -w '%{size_download}' https://api.far.test/big`); got != "67108864" {
			t.Errorf("%s bytes came", got)
		}
	})
	t.Run("a bad certificate", func(t *testing.T) {
		got := s.sh(id, `curl -sS -m 30 -H "X-Key: $WRONG" -w ' %{http_code}' https://wrong.test/quote`)
		if !strings.HasPrefix(got, "paddock: cannot speak to wrong.test") || !strings.Contains(got, "certificate") || !strings.HasSuffix(got, " 502") {
			t.Errorf("%q", got)
		}
		s.waitDenied(id, "wrong.test:443")
	})
	t.Run("other hosts", func(t *testing.T) {
		s.sh(id, `curl -sSk -m 30 -H "X-Key: $KEY" https://www.far.test/quote; curl -sS -m 30 -H "X-Key: $KEY" http://other.test/quote`)
		if got := f.last("/quote").Header.Get("X-Key"); got != placeholder {
			t.Errorf("another host got %q", got)
		}
		// The name alone does not do: the connection is to the host, and to where it is.
		s.exec(id, "curl", "-sS", "-m", "10", "-H", "Host: api.far.test", "-H", "X-Key: "+placeholder, "http://other.test/elsewhere")
		s.exec(id, "curl", "-sS", "-m", "10", "-H", "Host: www.far.test", "-H", "X-Key: "+placeholder, "https://api.far.test/misdirected")
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, r := range f.seen {
			if r.URL.Path == "/misdirected" || r.Host != "api.far.test" && strings.Contains(fmt.Sprint(r.Header), toldSecret) {
				t.Errorf("%s %s %v", r.Host, r.URL, r.Header)
			}
		}
	})
	t.Run("another session", func(t *testing.T) {
		other := s.create("agent: none\nname: other\n").SessionID
		s.sh(other, `curl -sSk -m 30 -H "X-Key: `+placeholder+`" https://api.far.test/quote`)
		if got := f.last("/quote").Header.Get("X-Key"); got != placeholder {
			t.Errorf("from a session without the secret %q arrives", got)
		}
		if code, _, _ := s.exec(other, "curl", "-sS", "-m", "10", "https://api.far.test/quote"); code != 60 {
			t.Errorf("without secrets, a host that nobody signed for: curl exits with %d", code)
		}
		if got := s.sh(other, `ls /run/paddock; env; grep -c Paddock /etc/ssl/certs/ca-certificates.crt; true`); strings.Contains(got, "ca.pem") || strings.Contains(got, "SSL_CERT_FILE") {
			t.Errorf("it is told of the authority: %s", got)
		}
	})
	t.Run("variables of the spec stay", func(t *testing.T) {
		own := s.create("agent: none\nname: own\nenv: {SSL_CERT_FILE: /tmp/mine}\n" + secrets).SessionID
		if got := s.sh(own, `echo $SSL_CERT_FILE $NODE_EXTRA_CA_CERTS $GIT_SSL_CAINFO`); got != "/tmp/mine /run/paddock/ca.pem /etc/ssl/certs/ca-certificates.crt\n" {
			t.Errorf("%s", got)
		}
	})

	// The agent has it in its environment, too, and sends it by itself.
	s.turn(id, `run curl -sS -m 30 -H "X-Agent: $KEY" https://api.far.test/agent`)
	if got := f.last("/agent").Header.Get("X-Agent"); got != toldSecret {
		t.Errorf("of the agent %q arrives", got)
	}
	nowhere := func(when string) {
		t.Helper()
		for _, sess := range []*godo.HostedAgentSession{s.get(id), s.get(cold.SessionID)} {
			found := insides(t, sess.SandboxID, append(shapes(toldSecret), s.sh(sess.SessionID, `printf %s "$KEY"`))...)
			for text, n := range found {
				if !strings.HasPrefix(text, "paddock-secret-") {
					t.Errorf("%s, %q is in sandbox %s %d times", when, text, sess.Name, n)
				}
			}
			if len(found) == 0 {
				t.Errorf("%s, the search does not find even the placeholder", when)
			}
			t.Logf("%s, %s: %v", when, sess.Name, found)
		}
	}
	nowhere("at first")
	s.assertValuesUnstored([]string{toldSecret})

	s.kill()
	s.restart()
	s.reachBrokered(f, id, "after kill -9")
	s.reachBrokered(f, cold.SessionID, "after kill -9")
	if _, err := s.client().HostedAgents.PauseSession(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.waitStatus(id, godo.HostedAgentSessionStatusPaused)
	s.reachBrokered(f, id, "after a pause")
	nowhere("in the end")

	killMachine(t, s.get(id).SandboxID)
	eventually(t, "it has another sandbox", func() bool { return s.get(id).SandboxID != one.SandboxID })
	s.waitStatus(id, godo.HostedAgentSessionStatusReady)
	s.reachBrokered(f, id, "restored")
}
