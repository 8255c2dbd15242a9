package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"paddock/e2e/host"
)

// killMachine ends a sandbox's processes from outside.
func killMachine(t *testing.T, sandbox string) {
	t.Helper()
	pids := host.Processes(sandbox)
	if len(pids) == 0 {
		t.Fatalf("no host process names sandbox %s", sandbox)
	}
	for _, pid := range pids {
		endProcess(pid)
	}
}

// endProcess kills a process of the host.
func endProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

// canary writes a file on the host that must not exist inside, and returns its
// path and the secret in it.
func canary(t *testing.T, dir string, mode os.FileMode) (path, secret string) {
	t.Helper()
	f, err := os.CreateTemp(dir, "paddock-canary-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(f.Name()) })
	secret = "canary:" + f.Name()
	if _, err := f.WriteString(secret); err != nil {
		t.Fatal(err)
	}
	if err := f.Chmod(mode); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name(), secret
}

func TestNothingOfTheHostIsInside(t *testing.T) {
	var paths []string
	for dir, mode := range map[string]os.FileMode{"/root": 0o644, "/home": 0o644, "/var": 0o644, "/etc": 0o644, "/tmp": 0o644, "/usr/local": 0o600, "/var/lib": 0o644} {
		p, _ := canary(t, dir, mode)
		paths = append(paths, p)
	}
	s := startServer(t)
	p, _ := canary(t, s.dir, 0o644)
	paths = append(paths, p, filepath.Join(s.dir, "paddock.db"))
	id := s.create("agent: none\n").SessionID
	for _, user := range []string{"agent", "root"} {
		t.Run(user, func(t *testing.T) {
			for _, p := range paths {
				r, _ := s.execWith(id, map[string]any{"argv": []string{"cat", p}, "user": user})
				if r.ExitCode == 0 {
					t.Errorf("%s can be read inside: %q", p, r.Stdout)
				}
			}
			r, _ := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", "dmesg 2>/dev/null | head -1; cat /proc/version"}, "user": user})
			kernel, _ := os.ReadFile("/proc/version")
			if strings.Contains(r.Stdout, strings.Fields(string(kernel))[2]) || !strings.Contains(r.Stdout, "gVisor") && !strings.Contains(r.Stdout, "4.4.0") {
				t.Errorf("the kernel inside is %q", r.Stdout)
			}
			r, _ = s.execWith(id, map[string]any{"argv": []string{"sh", "-c", "env; cat /proc/1/environ /proc/self/environ 2>/dev/null"}, "user": user})
			if strings.Contains(r.Stdout, token) || strings.Contains(r.Stdout, "PADDOCK_TOKEN") {
				t.Error("the server's token is inside")
			}
		})
	}
	t.Run("nothing lies about", func(t *testing.T) { // root sees all that the agent does
		const walk = `find / -xdev \( -path /proc -o -path /sys \) -prune -o \( -name 'paddock-canary-*' -o -type f -perm /6000 \) -print 2>/dev/null`
		r, _ := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", walk}, "user": "root", "timeout_seconds": 300})
		if r.Stdout != "" || r.TimedOut {
			t.Errorf("files of the host, or setuid or setgid ones, inside: %s (timed out: %v)", r.Stdout, r.TimedOut)
		}
	})
	t.Run("a network of its own", func(t *testing.T) {
		out := s.sh(id, "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '")
		if strings.Join(strings.Fields(out), " ") != "lo eth0" {
			t.Errorf("interfaces inside: %q", out)
		}
		_, port, _ := strings.Cut(s.addr, ":")
		for _, addr := range []string{"127.0.0.1", "10.0.2.2"} {
			if code, _, _ := s.exec(id, "bash", "-c", "exec 3<>/dev/tcp/"+addr+"/"+port); code == 0 {
				t.Errorf("the server's port can be reached from inside at %s", addr)
			}
		}
	})
	t.Run("the control channel is closed to the agent", func(t *testing.T) {
		if code, _, _ := s.exec(id, "sh", "-c", "command -v python3"); code != 0 {
			t.Skip("python3 is not installed, so nothing inside can dial the socket")
		}
		for _, line := range []string{"ls /run/paddock/control", "cat /run/paddock/control/secret", "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('/run/paddock/control/host.sock')\""} {
			if code, out, _ := s.exec(id, "sh", "-c", line); code == 0 {
				t.Errorf("%s: %q", line, out)
			}
		}
	})
	t.Run("writes stay inside", func(t *testing.T) {
		r, _ := s.execWith(id, map[string]any{"argv": []string{"sh", "-c", "echo mine > /usr/bin/paddock-e2e-mark && cat /usr/bin/paddock-e2e-mark && rm /usr/bin/env && ls /usr/bin/env"}, "user": "root"})
		if r.Stdout != "mine\n" || r.ExitCode == 0 {
			t.Errorf("write to /usr inside: %+v", r)
		}
		if _, err := os.Stat("/usr/bin/env"); err != nil {
			t.Errorf("the host lost a file: %v", err)
		}
		if _, err := os.Stat("/usr/bin/paddock-e2e-mark"); err == nil {
			t.Error("a file written inside is on the host")
		}
		other := s.create("agent: none\n").SessionID
		if code, _, _ := s.exec(other, "sh", "-c", "ls /usr/bin/env && ! ls /usr/bin/paddock-e2e-mark"); code != 0 {
			t.Error("another session sees the writes")
		}
	})
}
