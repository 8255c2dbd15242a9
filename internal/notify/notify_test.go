package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var notice = Notice{ID: "msg_1", Type: "run.completed", Body: []byte(`{"type":"run.completed"}`)}

// A key is made once, is private, and is never made anew over something that is
// no key.
func TestKeyIsMadeOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notify.key")
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = OpenKey(file) }) // another server, at the same time
	_, _ = OpenKey(file)
	wg.Wait()
	first, err := OpenKey(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenKey(file)
	if err != nil || string(again.secret) != string(first.secret) || len(first.secret) != keySize {
		t.Fatalf("%d bytes, then %d: %v", len(first.secret), len(again.secret), err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("left behind are %v", left)
	}
	for _, bad := range []string{"", "whsec_", "whsec_c2hvcnQ=", "nonsense"} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKey(file); err == nil || !strings.Contains(err.Error(), "holds no key") {
			t.Errorf("%q: %v", bad, err)
		}
		if text, _ := os.ReadFile(file); string(text) != bad {
			t.Errorf("%q became %q", bad, text)
		}
	}
}

func testKey(t *testing.T) (key Key, secret []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notify.key")
	key, err := OpenKey(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(string(text)), "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	return key, secret
}

// signature is what a receiver computes that knows the key file.
func signature(secret []byte, id, at, body string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + at + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestURL(t *testing.T) {
	key, secret := testKey(t)
	elsewhere := 0
	mux := http.NewServeMux()
	mux.HandleFunc("/good", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h := r.Header
		at := h.Get("Webhook-Timestamp")
		if want := signature(secret, notice.ID, at, string(notice.Body)); h.Get("Webhook-Signature") != want {
			t.Errorf("signed %q, want %q", h.Get("Webhook-Signature"), want)
		}
		if h.Get("Webhook-Id") != notice.ID || h.Get("Idempotency-Key") != notice.ID || string(body) != string(notice.Body) || r.Method != http.MethodPost || h.Get("Content-Type") != "application/json" {
			t.Errorf("got %s %v %s", r.Method, h, body)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("/bad", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { elsewhere++ })
	server := httptest.NewServer(mux)
	defer server.Close()
	deliver := func(address string) error {
		c := URL(address, key)
		defer c.(*webhook).client.CloseIdleConnections()
		return c.Deliver(context.Background(), notice)
	}
	if err := deliver(server.URL + "/good"); err != nil {
		t.Error(err)
	}
	if err := deliver(server.URL + "/bad"); err == nil || !strings.Contains(err.Error(), "502") {
		t.Error(err)
	}
	if err := deliver(server.URL + "/away"); err == nil || elsewhere != 0 {
		t.Errorf("%v; the notice went %d times elsewhere", err, elsewhere)
	}
	if err := deliver("http://user:hunter2@127.0.0.1:1/hook?token=hunter2"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestCheckURL(t *testing.T) {
	for text, good := range map[string]bool{
		"https://example.com/hook": true, "http://127.0.0.1:80": true,
		"": false, "example.com": false, "file:///etc": false, "http://": false, "://": false,
	} {
		if err := CheckURL(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCommand(t *testing.T) {
	key, secret := testKey(t)
	file := filepath.Join(t.TempDir(), "out")
	c := Command(`cat > "`+file+`"; echo " $PADDOCK_NOTICE_ID $PADDOCK_NOTICE_TYPE $PADDOCK_NOTICE_TIMESTAMP $PADDOCK_NOTICE_SIGNATURE" >> "`+file+`"`, key)
	if err := c.Deliver(context.Background(), notice); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	words := strings.Fields(string(text))
	if err != nil || len(words) != 5 || words[0] != string(notice.Body) || words[1] != notice.ID || words[2] != notice.Type ||
		words[4] != signature(secret, notice.ID, words[3], string(notice.Body)) {
		t.Errorf("the command got %q: %v", text, err)
	}
	err = Command(`seq 1 10000; echo no such room; exit 3`, key).Deliver(context.Background(), notice)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.HasSuffix(err.Error(), "no such room") || len(err.Error()) > 2*tailSize {
		t.Errorf("a command that fails: %v", err)
	}
	if err := Command(`sleep 60 & exit 0`, key).Deliver(context.Background(), notice); err != nil {
		t.Errorf("a command that leaves something behind: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := Command(`sleep 60`, key).Deliver(ctx, notice); err == nil {
		t.Error("a command that was given up has delivered")
	}
}
