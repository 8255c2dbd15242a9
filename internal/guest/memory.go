package guest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/event"
	"paddock/internal/guest/proc"
)

const (
	// reliefGrace is how long ended processes may take to be gone.
	reliefGrace = 2 * time.Second
	// reliefQuiet is how long after an entry about ended processes the next one
	// is left out, unless the agent itself is ended: who starts a greedy process
	// again and again shall not fill the history.
	reliefQuiet = time.Second
)

// owner is whoever answers for a process: the agent for its whole tree, an exec
// for what it has started and what stayed in its session.
type owner struct {
	agent   bool
	session int // of an exec; 0 for the agent
	bytes   int64
	uses    []proc.Use // largest first
}

// Relieve is part of guestapi.Guest. Who has most answers for it: so what the
// agent has started is ended before the exec of somebody else, even where each
// process of it is small.
func (d *Daemon) Relieve(ctx context.Context, need int64) (int, error) {
	guilty, ended := d.endGreedy(need)
	if len(ended) > 0 {
		d.tellEnded(guilty, ended)
		awaitGone(ctx, ended, reliefGrace)
	}
	return len(ended), nil
}

// endGreedy kills processes of who has most. The machine stands still for that:
// else it would never catch up with many that allocate at once.
func (d *Daemon) endGreedy(need int64) (guilty owner, ended []proc.Use) {
	defer d.relief.bar()()
	defer proc.StopAll()()
	uses := proc.Uses(d.tree)
	owners := byOwner(uses)
	if len(owners) == 0 {
		return owner{}, nil
	}
	guilty = owners[0]
	total, used := memory()
	hidden := used - sum(uses)
	unseen := hidden > guilty.bytes
	if unseen {
		// Most of what is in use no process has mapped: open files in memory hold
		// it, and of whom cannot be seen. The agent is the first to be asked.
		guilty, need = suspect(owners), hidden
	}
	agent := int(d.agentPid.Load())
	for _, u := range victims(guilty, agent, need, unseen) {
		if u.Pid == agent {
			d.table.Blame(agent, fmt.Sprintf("out of memory: it used %s of the machine's %s", mib(u.Bytes), mib(total)))
		}
		if unix.Kill(u.Pid, unix.SIGKILL) == nil {
			ended = append(ended, u)
		}
	}
	return guilty, ended
}

// byOwner sorts processes by who answers for them, the greatest first.
func byOwner(uses []proc.Use) []owner {
	var owners []owner
	at := map[int]int{}
	for _, u := range uses {
		session := u.Session
		if u.Member {
			session = 0
		}
		i, ok := at[session]
		if !ok {
			i = len(owners)
			at[session] = i
			owners = append(owners, owner{agent: u.Member, session: session})
		}
		owners[i].bytes += u.Bytes
		owners[i].uses = append(owners[i].uses, u)
	}
	for _, o := range owners {
		slices.SortFunc(o.uses, func(a, b proc.Use) int { return int(b.Bytes>>10 - a.Bytes>>10) })
	}
	slices.SortStableFunc(owners, func(a, b owner) int { return int(b.bytes>>10 - a.bytes>>10) })
	return owners
}

// suspect is the agent, if it has any processes, else the exec that began last.
func suspect(owners []owner) owner {
	last := func(o owner) (start uint64) {
		for _, u := range o.uses {
			start = max(start, u.Start)
		}
		return start
	}
	s := owners[0]
	for _, o := range owners {
		if o.agent {
			return o
		}
		if last(o) > last(s) {
			s = o
		}
	}
	return s
}

// victims are the largest processes of an owner that have need bytes together.
// The agent itself is spared as long as what it has started has more, or, where
// what is in use was not seen, as long as there is anything that it has started.
func victims(o owner, agent int, need int64, unseen bool) []proc.Use {
	uses := slices.Clone(o.uses)
	i := slices.IndexFunc(uses, func(u proc.Use) bool { return u.Pid == agent })
	if i >= 0 && len(uses) > 1 && (unseen || uses[i].Bytes < o.bytes/2) {
		uses = slices.Delete(uses, i, i+1)
	}
	var have int64
	for i, u := range uses {
		if have += u.Bytes; have >= need {
			return uses[:i+1]
		}
	}
	return uses
}

// memory is what the machine has and what of it is in use, in bytes.
func memory() (total, used int64) {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0, 0
	}
	return int64(info.Totalram) * int64(info.Unit), int64(info.Totalram-info.Freeram) * int64(info.Unit)
}

func sum(uses []proc.Use) (bytes int64) {
	for _, u := range uses {
		bytes += u.Bytes
	}
	return bytes
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// tellEnded puts into the history who was ended and why.
func (d *Daemon) tellEnded(guilty owner, ended []proc.Use) {
	agent := int(d.agentPid.Load())
	itself := slices.ContainsFunc(ended, func(u proc.Use) bool { return u.Pid == agent })
	now := time.Now()
	if last := d.relieved.Swap(now.UnixNano()); now.Sub(time.Unix(0, last)) < reliefQuiet && !itself {
		return
	}
	name := strings.ToValidUTF8(ended[0].Name, "\uFFFD")
	largest := fmt.Sprintf("%s (pid %d)", name, ended[0].Pid)
	whose := map[bool]string{true: "of the agent", false: "of an exec"}[guilty.agent]
	what := fmt.Sprintf("process %s %s was", largest, whose)
	switch {
	case itself:
		what = fmt.Sprintf("the agent, %s, was", largest)
	case len(ended) > 1:
		what = fmt.Sprintf("%d processes %s, the largest of them %s, were", len(ended), whose, largest)
	}
	total, _ := memory()
	s := &sink{ctx: d.ctx, journal: d.journal}
	if guilty.agent {
		s.run = d.turns.running()
	}
	s.Log(event.Log{
		Level:   "error",
		Message: fmt.Sprintf("out of memory (the machine has %s): %s ended, using %s", mib(total), what, mib(sum(ended))),
		Fields: map[string]any{
			"reason": "out_of_memory", "process": name, "processes": len(ended), "used_bytes": sum(ended), "memory_bytes": total,
		},
	}, Source{})
}

// running is the run whose turn is being played; "" when none is.
func (t *turns) running() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active == nil {
		return ""
	}
	return t.active.run.String()
}

// awaitGone waits until the processes have ended, at most grace.
func awaitGone(ctx context.Context, ended []proc.Use, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, u := range ended {
		for u.Alive() {
			select {
			case <-time.After(2 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}
}
