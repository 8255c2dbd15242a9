package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/digitalocean/godo"
)

// The values have no form in which a test's own files could have them by accident,
// and spaces, at which the demo agent cuts what it says into pieces.
const (
	plainSecret    = `zq7 wheel "harbour" 91x-kiln`
	brokeredSecret = "vb3-lantern-quarry-55t-mosaic"
)

// shapes are texts of which none may be found where the value may not.
func shapes(value string) []string {
	return []string{value, value[:len(value)-3], strings.ReplaceAll(value, `"`, `\"`), base64.StdEncoding.EncodeToString([]byte(value))[:16], strings.TrimSuffix(base64.RawStdEncoding.EncodeToString([]byte("x" + value))[2:], "=")[:16]}
}

// assertUnstored reads every byte of the data folder, but for some folders of it,
// and of the server's log.
func (s *server) assertUnstored(but ...string) {
	s.t.Helper()
	s.assertValuesUnstored([]string{plainSecret, brokeredSecret}, but...)
}

func (s *server) assertValuesUnstored(values []string, but ...string) {
	s.t.Helper()
	files := 0
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() && slices.Contains(but, entry.Name()) {
			return fs.SkipDir
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) { // it is gone; a namespace is no file
			return nil
		}
		files++
		s.assertWithout(path, text, values...)
		return err
	})
	if err != nil || files < 5 {
		s.t.Errorf("%d files read, %v", files, err)
	}
	s.assertWithout("the server's log", []byte(s.log.String()), values...)
}

func (s *server) assertWithout(where string, text []byte, values ...string) {
	s.t.Helper()
	for _, value := range values {
		for _, shape := range shapes(value) {
			if bytes.Contains(text, []byte(shape)) {
				s.t.Errorf("%s has %q in it", where, shape)
			}
		}
	}
}

// read reads a path of the API as it comes.
func (s *server) read(path string) []byte {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+s.addr+"/v2/harness-runtime"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %d %v", path, answer.StatusCode, err)
	}
	return body.Bytes()
}

// Secrets are variables inside the sandbox, or placeholders there, and nowhere
// else: not in a file of the server, its log, the API or the history, whatever the
// agent prints, and over a crash.
func TestSecrets(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ctx := context.Background()
	spec := "agent: demo # " + plainSecret + "\npermissions: {default: allow}\nsecrets:\n  PLAIN: '" + plainSecret + "'\n  KEY: {value: " + brokeredSecret + ", host: api.example.com}\n"
	env, _, err := s.client().HostedAgents.CreateEnvironment(ctx, &godo.HostedEnvironmentCreateRequest{Name: "bot", ManifestYAML: spec})
	if err != nil {
		t.Fatal(err)
	}
	one := s.create("name: one\n" + spec)
	two, _, err := s.client().HostedAgents.CreateSessionFromEnvironment(ctx, &godo.HostedAgentSessionFromEnvironmentRequest{Name: "two", ConfigID: env.ID})
	if err != nil {
		t.Fatal(err)
	}
	s.waitStatus(two.SessionID, godo.HostedAgentSessionStatusReady)
	placeholder := regexp.MustCompile(`^paddock-secret-[a-z2-7]{32}$`)
	inside := map[string]string{}
	check := func() {
		t.Helper()
		for _, id := range []string{one.SessionID, two.SessionID} {
			if got := s.sh(id, `printf %s "$PLAIN"`); got != plainSecret {
				t.Errorf("PLAIN is %q", got)
			}
			key := s.sh(id, `printf %s "$KEY"`)
			if was := inside[id]; !placeholder.MatchString(key) || was != "" && was != key {
				t.Errorf("KEY is %q, was %q", key, was)
			}
			inside[id] = key
		}
	}
	check()
	s.turn(one.SessionID, `run test -n "$PLAIN"`)
	eventually(t, "a recovery point is there", func() bool {
		points, err := filepath.Glob(filepath.Join(s.dir, "recovery", one.SessionID, "*", "*"))
		return err == nil && len(points) > 0
	})
	s.assertUnstored()
	if inside[one.SessionID] == inside[two.SessionID] {
		t.Error("two environments have one placeholder")
	}
	for _, text := range []string{`run env; printf %s "$PLAIN" | base64; echo "$PLAIN" >&2`, "read /proc/self/environ"} {
		run := s.send(one.SessionID, text)
		s.waitRun(one.SessionID, run)
		if said := s.said(one.SessionID, run); text[:4] == "read" && (!strings.Contains(said, "PLAIN=[redacted PLAIN]") || !strings.Contains(said, "KEY="+inside[one.SessionID])) {
			t.Errorf("the agent said %q", said)
		}
	}
	// What the agent writes into its own files is there, and in what is saved of them.
	s.assertUnstored("sandboxes", "recovery")
	s.kill()
	s.restart()
	check()
	s.assertUnstored("sandboxes", "recovery")

	history := s.read("/sessions/one/events?replay_only=true&include_raw=true")
	if n := bytes.Count(history, []byte("[redacted PLAIN]")); n < 4 {
		t.Errorf("the history has %d marks:\n%s", n, history)
	}
	transcript, errs, code := s.cli("transcript", "one")
	if code != 0 || !strings.Contains(transcript, "[redacted PLAIN]") {
		t.Errorf("%d %s\n%s", code, errs, transcript)
	}
	for where, text := range map[string][]byte{
		"the history": history, "the transcript": []byte(transcript), "the environment": s.read("/configs/" + env.ID), "its list": s.read("/configs"),
		"the session": s.read("/sessions/one"), "its environment": s.read("/configs/one"),
	} {
		s.assertWithout(where, text, plainSecret, brokeredSecret)
	}
	again, _, err := s.client().HostedAgents.GetEnvironment(ctx, env.ID)
	if err != nil || len(again.Credentials) != 2 || again.Credentials[0].Name != "KEY" || again.Credentials[1] != (godo.HostedEnvironmentCredentialSlot{Name: "PLAIN", Source: "tenantSecret"}) {
		t.Errorf("%+v, %v", again, err)
	}
	// What is searched for comes on stdin: in the arguments it would find itself.
	search := map[string]any{"argv": []string{"sh", "-c", "cat > /dev/shm/p 2>/dev/null || cat > /tmp/p; for f in /dev/shm/p /tmp/p; do [ -s $f ] && p=$f; done; " +
		"grep -rlaFs -f $p /proc/[0-9]*/environ /proc/[0-9]*/cmdline /run /etc /home /root /workspace /var/tmp; rm $p"},
		"user": "root", "stdin": base64.StdEncoding.EncodeToString([]byte(brokeredSecret))}
	if found, _ := s.execWith(one.SessionID, search); found.Stdout != "" {
		t.Errorf("the brokered value is inside: %s", found.Stdout)
	}
	search["stdin"] = base64.StdEncoding.EncodeToString([]byte(plainSecret))
	if found, _ := s.execWith(one.SessionID, search); !strings.Contains(found.Stdout, "/environ") {
		t.Errorf("the search finds not even the plain value: %+v", found)
	}
}

// A server does not start without the key of what it keeps sealed, or with
// another, and says why in a sentence; nothing is lost by that.
func TestKeyOfSecrets(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := filepath.Join(s.dir, "secrets.key")
	if at, err := os.Stat(key); err != nil || at.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", at, err)
	}
	other, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := os.Remove(key); err != nil { // nothing is sealed yet: another one is made
		t.Fatal(err)
	}
	s.restart()
	session := s.create("agent: none\nsecrets: {PLAIN: '" + plainSecret + "'}\n")
	own, err := os.ReadFile(key)
	if err != nil || bytes.Equal(own, other) {
		t.Fatal("the key is the one that was removed", err)
	}
	for want, spoil := range map[string]func() error{
		"is gone":        func() error { return os.Remove(key) },
		"is not the key": func() error { return os.WriteFile(key, other, 0o600) },
		"chmod 600":      func() error { return os.Chmod(key, 0o644) },
		"is no key":      func() error { return os.WriteFile(key, own[:40], 0o600) },
	} {
		s.stop()
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		before := len(s.log.String())
		s.start()
		<-s.done
		said := strings.Split(strings.TrimSpace(s.log.String()[before:]), "\n")
		if last := said[len(said)-1]; s.cmd.ProcessState.ExitCode() == 0 || !strings.Contains(last, want) || !strings.Contains(last, key) {
			t.Errorf("want %q, and the server ended with %d: %s", want, s.cmd.ProcessState.ExitCode(), last)
		}
		if err := errors.Join(os.Remove(key), os.WriteFile(key, own, 0o600)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		s.restart()
	}
	if got := s.sh(session.SessionID, `printf %s "$PLAIN"`); got != plainSecret {
		t.Errorf("PLAIN is %q", got)
	}
	var fault struct{ Message string }
	body, _ := json.Marshal(map[string]string{"name": "bot", "manifest_yaml": "agent: none\nsecrets: {A: zq7, B-C: '" + plainSecret + "'}\n"})
	s.call(http.MethodPost, "/configs", json.RawMessage(body), http.StatusBadRequest, &fault)
	if !strings.Contains(fault.Message, "secrets.A: has 3 bytes") || strings.Contains(fault.Message, plainSecret) {
		t.Errorf("%q", fault.Message)
	}
}
