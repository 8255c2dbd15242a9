package guestapi

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestHandshakeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Hello)
		greet  func(Hello) Welcome
		want   string
	}{
		"impostor":  {func(h *Hello) { h.Secret = "0123456789abcdeX" }, nil, "wrong secret"},
		"no secret": {func(h *Hello) { h.Secret = "" }, nil, "wrong secret"},
		"too new":   {func(h *Hello) { h.Version, h.Oldest = Version+2, Version+1 }, nil, "protocol versions"},
		"host says": {func(*Hello) {}, func(Hello) Welcome { return Welcome{Error: "busy"} }, "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			host, guest := net.Pipe()
			h := hello()
			c.change(&h)
			greet := c.greet
			if greet == nil {
				greet = func(Hello) Welcome { t.Error("greeted"); return Welcome{} }
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := Accept(t.Context(), host, secret, greet, nil); !errors.Is(err, ErrRefused) {
					t.Errorf("accept: %v", err)
				}
			})
			if _, err := Dial(t.Context(), guest, h, &echoGuest{}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("dial: %v", err)
			}
			wg.Wait()
		})
	}
}

func TestHandshakeGarbage(t *testing.T) {
	for name, line := range map[string]string{
		"endless":    strings.Repeat("x", MaxLine+1),
		"no json":    "GET / HTTP/1.1\n",
		"no version": "{}\n",
		"not UTF-8":  "{\"build\":\"\xff\"}\n",
		"cut":        `{"version":1`,
	} {
		t.Run(name, func(t *testing.T) {
			host, guest := net.Pipe()
			var wg sync.WaitGroup
			wg.Go(func() {
				_, _ = guest.Write([]byte(line))
				guest.Close()
			})
			if _, err := Accept(t.Context(), host, secret, acceptAll, nil); err == nil {
				t.Error("accepted")
			}
			wg.Wait()
		})
	}
}

func TestHandshakeEndsWithContext(t *testing.T) {
	host, guest := net.Pipe()
	defer guest.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Accept(ctx, host, secret, acceptAll, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("accept: %v", err)
	}
}

func TestAgree(t *testing.T) {
	for _, c := range []struct {
		oldest, newest, version int
		ok                      bool
	}{
		{Version, Version, Version, true},
		{Version, Version + 1, Version, true},
		{Version + 1, Version + 1, 0, false},
		{OldestVersion, OldestVersion, OldestVersion, true},
		{0, OldestVersion - 1, 0, false},
	} {
		v, ok := agree(c.oldest, c.newest)
		if ok != c.ok || ok && v != c.version {
			t.Errorf("agree(%d, %d) = %d, %v", c.oldest, c.newest, v, ok)
		}
	}
}

func FuzzParseHello(f *testing.F) {
	good, _ := json.Marshal(hello())
	f.Add(good)
	f.Add([]byte(`{"version":1,"oldest":1,"epoch":-1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		h, err := parseHello(line)
		if err == nil && (h.Oldest < 1 || h.Oldest > h.Version || h.Epoch < 0 || len(h.Secret) > 256) {
			t.Errorf("parsed %+v", h)
		}
	})
}

// A guest waits for its welcome far longer than a handshake takes, and notices
// that the host is gone.
func TestGuestWaitsForWelcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, guest := net.Pipe()
		dialled := make(chan error, 1)
		go func() {
			up, err := Dial(t.Context(), guest, hello(), &echoGuest{})
			if err == nil {
				defer up.Close()
			}
			dialled <- err
		}()
		caller, err := Receive(t.Context(), host, secret)
		if err != nil {
			t.Fatal(err)
		}
		if caller.Hello().Secret != "" || caller.Hello().Build != "test" {
			t.Errorf("the caller's hello is %+v", caller.Hello())
		}
		select {
		case err := <-dialled:
			t.Fatalf("the guest did not wait: %v", err)
		case <-time.After(time.Hour):
		}
		link, err := caller.Admit(t.Context(), Welcome{Epoch: 7}, hostFunc(nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := <-dialled; err != nil || link.Welcome().Epoch != 7 || link.Welcome().Version != Version {
			t.Errorf("dial: %v, welcome %+v", err, link.Welcome())
		}
		link.Close()
	})
}

func TestGuestLeftWaiting(t *testing.T) {
	host, guest := net.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := Dial(t.Context(), guest, hello(), &echoGuest{}); err == nil {
			t.Error("dialled a host that went away")
		}
	})
	caller, err := Receive(t.Context(), host, secret)
	if err != nil {
		t.Fatal(err)
	}
	caller.Close()
	wg.Wait()
}

// A guest of the version before is spoken to in its own.
func TestOlderGuest(t *testing.T) {
	host, guest := net.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		link, err := Accept(t.Context(), host, secret, acceptAll, hostFunc(nil))
		if err != nil {
			t.Error(err)
			return
		}
		defer link.Close()
		if link.Welcome().Version != OldestVersion {
			t.Errorf("the welcome is of version %d", link.Welcome().Version)
		}
	})
	h := hello()
	h.Version = OldestVersion
	up, err := Dial(t.Context(), guest, h, &echoGuest{})
	if err != nil {
		t.Fatal(err)
	}
	if up.Welcome().Version != OldestVersion {
		t.Errorf("the guest was welcomed in version %d", up.Welcome().Version)
	}
	up.Close()
	wg.Wait()
}
