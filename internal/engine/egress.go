package engine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/session"
)

// egressOf says where the machine of a session with that spec may connect to.
func egressOf(spec environment.Spec) sandbox.Egress {
	e := spec.Egress
	rules := sandbox.Egress{All: !e.Limited, Connections: spec.Network.Connections, Bandwidth: spec.Network.Bandwidth}
	if e.Limited {
		hosts, nets := agentHosts(spec)
		rules.Hosts, rules.Nets = slices.Concat(e.AllowHosts, hosts, spec.SecretHosts()), slices.Concat(e.AllowIPs, nets)
	}
	return rules
}

// beyond says which bounds of a spec are above those of this server, which hold.
func (e *Engine) beyond(spec environment.Spec) (warnings []string) {
	const above = "network.%s: %d is more than the %d that this server gives a sandbox, which holds"
	if n, most := spec.Network.Connections, e.most.Connections; most > 0 && n > most {
		warnings = append(warnings, fmt.Sprintf(above, "connections", n, most))
	}
	if n, most := spec.Network.Bandwidth, e.most.Bandwidth; most > 0 && n > most {
		warnings = append(warnings, fmt.Sprintf(above, "bandwidth", n, most))
	}
	return warnings
}

// mostClosed is how many addresses that stay closed are named.
const mostClosed = 10

// closedNotes says which addresses that a spec lists, or that its agent's model is
// at, stay closed on this server, and why.
func (e *Engine) closedNotes(spec environment.Spec) (notes []string) {
	closed := 0
	note := func(net netip.Prefix, format string) {
		why := e.closed(net)
		if why == "" {
			return
		}
		if closed++; closed <= mostClosed {
			notes = append(notes, fmt.Sprintf(format, why))
		}
	}
	for _, net := range spec.Egress.AllowIPs {
		note(net, "egress.allow_ips: %s")
	}
	_, nets := agentHosts(spec)
	for _, net := range nets {
		if !net.Addr().IsLoopback() && !slices.Contains(spec.Egress.AllowIPs, net) { // its loopback is the sandbox's own
			note(net, "env: agent "+spec.Agent+" is told to connect to an address that it cannot reach: %s")
		}
	}
	if more := closed - mostClosed; more > 0 {
		notes = append(notes, fmt.Sprintf("egress.allow_ips: %d more that it lists stay closed", more))
	}
	return notes
}

// EgressDenied writes into a session's history that its sandbox was refused a
// connection. It returns at once; of a sandbox that is nobody's nothing is told.
func (e *Engine) EgressDenied(sandboxID string, d sandbox.Denial) {
	sid, ok := e.sessionOf(sandboxID)
	if !ok {
		return
	}
	e.spawn(func(ctx context.Context) {
		err := e.change(ctx, sid, func(c *change) error {
			if c.s.State != session.Ready && c.s.State != session.Provisioning {
				return errNoChange
			}
			r, err := c.active()
			if err != nil {
				return err
			}
			run := id.Run{}
			if r != nil {
				run = r.ID
			}
			c.emit(run, event.PolicyDenied, deniedEgress(d))
			return nil
		})
		if err != nil && ctx.Err() == nil {
			e.log.Error("write refused connection", "session_id", sid, "error", err)
		}
	})
}

// deniedEgress is the event of a refused connection.
func deniedEgress(d sandbox.Denial) event.Denied {
	where := d.Host
	if d.Port != 0 {
		where = net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
	}
	detail := where + " (" + d.Protocol + ")"
	if d.More > 0 {
		detail += fmt.Sprintf(", and %d more refused since", d.More)
	}
	return event.Denied{Rule: "egress: " + d.Why, Tool: "network", Detail: detail}
}

// sessionOf gives the session whose attached machine is that sandbox.
func (e *Engine) sessionOf(sandboxID string) (id.Session, bool) {
	for _, a := range e.allActors() {
		if m := a.attached(); m != nil && m.box.Handle().ID == sandboxID {
			return a.session, true
		}
	}
	return id.Session{}, false
}
