package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// resolverAddr is where a machine asks for names.
var resolverAddr = netip.AddrPortFrom(Addr, 53)

const (
	// namesQuiet ends a flow over which no name was asked for.
	namesQuiet = 10 * time.Second
	// namesAtOnce bounds the questions of one machine that wait for an answer: each
	// holds a socket of this host and 64 KiB.
	namesAtOnce = 128
)

// serveUDPNames answers the questions of one flow.
func (g *Gateway) serveUDPNames(inside *gonet.UDPConn) {
	defer context.AfterFunc(g.ctx, func() { _ = inside.Close() })()
	var asked sync.WaitGroup
	defer asked.Wait()
	b := make([]byte, 4096)
	for {
		_ = inside.SetReadDeadline(time.Now().Add(namesQuiet))
		n, err := inside.Read(b)
		if err != nil {
			break
		}
		question := append([]byte(nil), b[:n]...)
		select {
		case g.asking <- struct{}{}:
		default:
			continue // it asks again
		}
		asked.Add(1)
		if !g.begin(func() {
			defer asked.Done()
			defer func() { <-g.asking }()
			if answer := g.answer(question, false); answer != nil {
				_, _ = inside.Write(answer)
			}
		}) {
			asked.Done()
			<-g.asking
			break
		}
	}
}

// serveTCPNames answers questions that come over a connection.
func (g *Gateway) serveTCPNames(r *tcp.ForwarderRequest) {
	if !g.limits.enter(true) {
		r.Complete(true)
		return
	}
	defer g.limits.exit(true)
	var queue waiter.Queue
	end, failed := r.CreateEndpoint(&queue)
	r.Complete(false)
	if failed != nil {
		return
	}
	inside := gonet.NewTCPConn(&queue, end)
	defer inside.Close()
	defer context.AfterFunc(g.ctx, end.Abort)()
	for {
		_ = inside.SetReadDeadline(time.Now().Add(namesQuiet))
		question, err := readFramed(inside)
		if err != nil {
			return
		}
		select {
		case g.asking <- struct{}{}:
		case <-g.ctx.Done():
			return
		}
		answer := g.answer(question, true)
		<-g.asking
		if answer == nil {
			return
		}
		if _, err := inside.Write(frameOf(answer)); err != nil {
			return
		}
	}
}

// readFramed reads a message as TCP carries it: after its length.
func readFramed(r io.Reader) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(r, b)
	return b, err
}

func frameOf(message []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)
}

// answer answers a question; nil for what is none.
func (g *Gateway) answer(question []byte, reliable bool) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(question)
	if err != nil || head.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil || head.OpCode != 0 {
		return reply(head, nil, dnsmessage.RCodeNotImplemented)
	}
	if _, err := p.Question(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return reply(head, &q, dnsmessage.RCodeFormatError)
	}
	name := q.Name.String()
	if why := g.gate.Name(name); why != "" {
		g.deny("dns", name[:max(len(name)-1, 0)], 0, why) // without the last dot
		return reply(head, &q, dnsmessage.RCodeNameError)
	}
	switch q.Type {
	case dnsmessage.TypeAAAA, typeSVCB, typeHTTPS: // no IPv6; and the latter two would hide names
		return reply(head, &q, dnsmessage.RCodeSuccess)
	case dnsmessage.TypeALL, dnsmessage.TypeAXFR:
		return reply(head, &q, dnsmessage.RCodeNotImplemented)
	}
	answer, err := g.resolver.exchange(g.ctx, question, q, reliable)
	if err != nil {
		return reply(head, &q, dnsmessage.RCodeServerFailure)
	}
	learn(g.gate, answer)
	return answer
}

// The types of questions that dnsmessage has no word for.
const (
	typeSVCB  dnsmessage.Type = 64
	typeHTTPS dnsmessage.Type = 65
)

// learner is told of addresses; see egress.Gate.
type learner interface {
	Learn(addr netip.Addr, ttl time.Duration)
}

// learn tells of all addresses in an answer. They are those of the name that was
// asked for, by whatever names it goes on the way.
func learn(to learner, answer []byte) (n int) {
	var p dnsmessage.Parser
	if _, err := p.Start(answer); err != nil || p.SkipAllQuestions() != nil {
		return 0
	}
	for {
		h, err := p.AnswerHeader()
		if err != nil {
			return n
		}
		if h.Type != dnsmessage.TypeA {
			if p.SkipAnswer() != nil {
				return n
			}
			continue
		}
		a, err := p.AResource()
		if err != nil {
			return n
		}
		to.Learn(netip.AddrFrom4(a.A), time.Duration(h.TTL)*time.Second)
		n++
	}
}

// reply makes an answer that has no records.
func reply(head dnsmessage.Header, q *dnsmessage.Question, code dnsmessage.RCode) []byte {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: head.ID, Response: true, OpCode: head.OpCode,
		RecursionDesired: head.RecursionDesired, RecursionAvailable: true, RCode: code})
	if q != nil {
		if b.StartQuestions() != nil || b.Question(*q) != nil {
			return nil
		}
	}
	message, err := b.Finish()
	if err != nil {
		return nil
	}
	return message
}
