package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"paddock/internal/network/broker"
	"paddock/internal/network/egress"
	"paddock/internal/network/gateway"
	"paddock/internal/sandbox"
)

// Options is what a User network needs to know.
type Options struct {
	Folder      string // of the namespace files; absolute, made when absent
	Operator    egress.Operator
	DNS         []string // upstream resolvers, address or address:port; none: those of the host
	Connections int      // most open connections of one machine
	Bandwidth   int      // bytes in a second each way that one machine may move; 0: no limit
	Authority   string   // folder of the certificate authority for brokered secrets, made when absent
	UpstreamCA  string   // PEM file of authorities that hosts of brokered secrets may have beside those of this system; "": none
	Logger      *slog.Logger
}

// User is a sandbox.Network whose machines reach the world through sockets of
// this process.
type User struct {
	namespaces
	options  Options
	resolver *gateway.Resolver
	broker   broker.Options
	watch    atomic.Pointer[func(id string, d sandbox.Denial)]

	mu   sync.Mutex
	live map[string]*attached
}

// attached is a machine's network that this process holds.
type attached struct {
	gate    *egress.Gate
	broker  *broker.Broker
	gateway *gateway.Gateway
}

var _ sandbox.Network = (*User)(nil)

// New opens the network, and tries whether this host lets us make one: an error
// says what is missing.
func New(o Options) (*User, error) {
	n, err := openNamespaces(o.Folder)
	if err != nil {
		return nil, err
	}
	resolver, err := gateway.NewResolver(o.DNS)
	if err != nil {
		return nil, err
	}
	u := &User{namespaces: n, options: o, resolver: resolver, live: map[string]*attached{}}
	if u.broker, err = brokerOptions(o); err != nil {
		return nil, err
	}
	const trial = "trial"
	if _, err = u.Attach(context.Background(), trial, sandbox.Egress{}, nil); err == nil {
		err = u.Detach(context.Background(), trial)
	}
	if err != nil {
		return nil, fmt.Errorf("try a TAP device: %w", err)
	}
	return u, nil
}

// Watch has denied called for attempts that were refused, not for each of many.
// It must return soon.
func (u *User) Watch(denied func(id string, d sandbox.Denial)) { u.watch.Store(&denied) }

// Authority is part of sandbox.Network.
func (u *User) Authority() []byte { return u.broker.Authority.PEM() }

// Warning is part of sandbox.Network.
func (*User) Warning() string { return "" }

// Attach is part of sandbox.Network.
func (u *User) Attach(_ context.Context, id string, rules sandbox.Egress, secrets []sandbox.Brokered) (nsPath string, err error) {
	if err := u.Leave(id); err != nil {
		return "", err
	}
	if err := u.keepRules(id, rules); err != nil {
		return "", err
	}
	var tap *os.File
	nsPath, err = u.make(id, func() (err error) {
		if tap, err = openTap(); err != nil {
			return err
		}
		return configure()
	})
	if err != nil {
		if tap != nil {
			tap.Close()
		}
		return "", err
	}
	return nsPath, u.serve(id, tap, rules, secrets, true)
}

// serve puts a gateway at the other end of the device.
func (u *User) serve(id string, tap *os.File, rules sandbox.Egress, secrets []sandbox.Brokered, fresh bool) error {
	a := &attached{gate: egress.NewGate(u.options.Operator, rules), broker: broker.New(u.broker, secrets)}
	var err error
	a.gateway, err = gateway.New(gateway.Options{
		Tap: tap, Gate: a.gate, Broker: a.broker, Resolver: u.resolver, Flows: u.path(id) + flowsSuffix, Fresh: fresh,
		Connections: u.options.Connections, Bandwidth: u.options.Bandwidth, Rules: rules,
		Denied: func(d sandbox.Denial) {
			if denied := u.watch.Load(); denied != nil {
				(*denied)(id, d)
			}
		},
	})
	if err != nil {
		return errors.Join(fmt.Errorf("start gateway: %w", err), tap.Close())
	}
	u.mu.Lock()
	u.live[id] = a
	u.mu.Unlock()
	return nil
}

// Govern is part of sandbox.Network. The rules are on disk before they are in
// force: a later server has them too.
func (u *User) Govern(_ context.Context, id string, rules sandbox.Egress, secrets []sandbox.Brokered) error {
	if err := u.keepRules(id, rules); err != nil {
		return err
	}
	u.mu.Lock()
	a := u.live[id]
	u.mu.Unlock()
	if a != nil {
		a.gate.Govern(rules)
		a.gateway.Limit(rules)
		a.broker.Entrust(secrets)
	}
	return nil
}

// Rejoin is part of sandbox.Network.
func (u *User) Rejoin(_ context.Context, id string, secrets []sandbox.Brokered) error {
	if err := u.Leave(id); err != nil {
		return err
	}
	rules, err := u.keptRules(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // attached by a build that had only loopback
	}
	if err != nil {
		return err
	}
	var tap *os.File
	err = u.within(id, func() (err error) {
		if !hasDevice() {
			return errNoDevice
		}
		tap, err = openTap()
		return err
	})
	if err != nil {
		return err
	}
	return u.serve(id, tap, rules, secrets, false)
}

// Leave is part of sandbox.Network.
func (u *User) Leave(id string) error {
	u.mu.Lock()
	a := u.live[id]
	delete(u.live, id)
	u.mu.Unlock()
	if a == nil {
		return nil
	}
	return a.gateway.Close()
}

// Detach is part of sandbox.Network.
func (u *User) Detach(_ context.Context, id string) error {
	err := errors.Join(u.Leave(id), u.remove(id))
	for _, suffix := range []string{rulesSuffix, flowsSuffix} {
		if e := os.Remove(u.path(id) + suffix); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// What is kept beside a machine's namespace file.
const (
	rulesSuffix = ".egress" // its rules, as JSON
	flowsSuffix = ".flows"  // its open connections
)

func (u *User) keepRules(id string, rules sandbox.Egress) error {
	text, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("encode egress: %w", err)
	}
	path := u.path(id) + rulesSuffix
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return fmt.Errorf("keep egress: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("keep egress: %w", err)
	}
	return nil
}

func (u *User) keptRules(id string) (rules sandbox.Egress, err error) {
	text, err := os.ReadFile(u.path(id) + rulesSuffix)
	if err != nil {
		return rules, fmt.Errorf("read egress: %w", err)
	}
	if err := json.Unmarshal(text, &rules); err != nil {
		return rules, fmt.Errorf("read egress %q: %w", strings.TrimSpace(string(text)), err)
	}
	return rules, nil
}
