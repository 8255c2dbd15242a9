package gateway

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sync/singleflight"

	"paddock/internal/network/egress"
)

const (
	// askPatience is how long one upstream resolver may take.
	askPatience = 2 * time.Second
	// hostFile says which resolvers this host uses.
	hostFile = "/etc/resolv.conf"
	// hostFileAge is how long what it said is believed.
	hostFileAge = 5 * time.Second
	// mostServers is how many resolvers are asked in turn.
	mostServers = 3
	// refreshAge is how long a look at the listed names counts.
	refreshAge = 5 * time.Second
	// mostRefreshed bounds that look.
	mostRefreshed = 32
)

// Resolver asks the resolvers outside. It is shared by all machines.
type Resolver struct {
	fixed []netip.AddrPort // empty: those of the host

	mu   sync.Mutex
	at   time.Time
	host []netip.AddrPort
	last map[*egress.Gate]time.Time // see refresh

	looks singleflight.Group
}

// NewResolver asks the resolvers given, address or address:port, or those of
// this host when none are.
func NewResolver(servers []string) (*Resolver, error) {
	r := &Resolver{last: map[*egress.Gate]time.Time{}}
	for _, text := range servers {
		server, err := netip.ParseAddrPort(text)
		if err != nil {
			addr, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("resolver %q is neither address nor address:port", text)
			}
			server = netip.AddrPortFrom(addr, 53)
		}
		r.fixed = append(r.fixed, server)
	}
	return r, nil
}

// servers are whom to ask, in their order.
func (r *Resolver) servers() []netip.AddrPort {
	if len(r.fixed) > 0 {
		return r.fixed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.at) > hostFileAge {
		r.at = now
		if text, err := os.ReadFile(hostFile); err == nil {
			r.host = hostServers(string(text))
		}
	}
	return r.host
}

// hostServers reads resolv.conf(5).
func hostServers(text string) (servers []netip.AddrPort) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		if addr, err := netip.ParseAddr(words[1]); err == nil && len(servers) < mostServers {
			servers = append(servers, netip.AddrPortFrom(addr, 53))
		}
	}
	return servers
}

// errNobody says that there is no resolver to ask.
var errNobody = errors.New("this host names no resolver")

// exchange has the question answered by one of the resolvers, over TCP if the
// asker can take what is long.
func (r *Resolver) exchange(ctx context.Context, question []byte, q dnsmessage.Question, reliable bool) (answer []byte, err error) {
	err = errNobody
	network := "udp"
	if reliable {
		network = "tcp"
	}
	for _, server := range r.servers() {
		if answer, err = ask(ctx, network, server, question, q); err == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, err
}

// ask asks one resolver. The id is ours, so that it cannot be guessed; answers
// to other questions are passed over.
func ask(ctx context.Context, network string, server netip.AddrPort, question []byte, q dnsmessage.Question) ([]byte, error) {
	dialer := net.Dialer{Timeout: askPatience}
	conn, err := dialer.DialContext(ctx, network, server.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(askPatience))
	sent := append([]byte(nil), question...)
	var id [2]byte
	rand.Read(id[:]) // never fails, by its contract
	copy(sent, id[:])
	if network == "tcp" {
		sent = frameOf(sent)
	}
	if _, err := conn.Write(sent); err != nil {
		return nil, err
	}
	b := make([]byte, 1<<16)
	for {
		var answer []byte
		if network == "tcp" {
			answer, err = readFramed(conn)
		} else {
			var n int
			n, err = conn.Read(b)
			answer = b[:n]
		}
		if err != nil {
			return nil, err
		}
		if answers(answer, binary.BigEndian.Uint16(id[:]), q) {
			copy(answer, question[:2])
			return answer, nil
		}
	}
}

// answers says whether a message answers the question.
func answers(message []byte, id uint16, q dnsmessage.Question) bool {
	var p dnsmessage.Parser
	head, err := p.Start(message)
	if err != nil || !head.Response || head.ID != id {
		return false
	}
	got, err := p.Question()
	return err == nil && got.Type == q.Type && got.Class == q.Class && strings.EqualFold(got.Name.String(), q.Name.String())
}

// refresh looks the names up that a gate lists one by one, so that it knows
// their addresses; false when that was done a moment ago, or there are none.
func (r *Resolver) refresh(ctx context.Context, gate *egress.Gate) bool {
	names := gate.Exact()
	if len(names) == 0 {
		return false
	}
	done, _, _ := r.looks.Do(fmt.Sprintf("%p", gate), func() (any, error) {
		r.mu.Lock()
		now := time.Now()
		for g, at := range r.last {
			if now.Sub(at) > refreshAge {
				delete(r.last, g)
			}
		}
		_, fresh := r.last[gate]
		r.last[gate] = now
		r.mu.Unlock()
		if fresh {
			return false, nil
		}
		var all sync.WaitGroup
		for _, name := range names[:min(len(names), mostRefreshed)] {
			all.Go(func() { r.lookUp(ctx, gate, name) })
		}
		all.Wait()
		return true, nil
	})
	return done.(bool)
}

// lookUp has a gate know the addresses of a name that it allows.
func (r *Resolver) lookUp(ctx context.Context, gate *egress.Gate, name string) {
	if gate.Name(name) != "" {
		return
	}
	if answer, err := r.ask(ctx, name); err == nil {
		learn(gate, answer)
	}
}

// addresses looks a name up.
func (r *Resolver) addresses(ctx context.Context, name string) ([]netip.Addr, error) {
	answer, err := r.ask(ctx, name)
	if err != nil {
		return nil, err
	}
	var found noted
	learn(&found, answer)
	return found, nil
}

// noted are addresses that were learnt.
type noted []netip.Addr

// Learn is part of learner.
func (n *noted) Learn(addr netip.Addr, _ time.Duration) { *n = append(*n, addr) }

// ask asks for the addresses of a name.
func (r *Resolver) ask(ctx context.Context, name string) (answer []byte, err error) {
	n, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return nil, err
	}
	q := dnsmessage.Question{Name: n, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{RecursionDesired: true})
	if err := errors.Join(b.StartQuestions(), b.Question(q)); err != nil {
		return nil, err
	}
	question, err := b.Finish()
	if err != nil {
		return nil, err
	}
	return r.exchange(ctx, question, q, false)
}
