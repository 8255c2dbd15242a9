package chat

import (
	"slices"
	"time"

	"paddock/client"
	"paddock/internal/plain"
)

// Conversation is what a person sees of a session. All its text is clean
// (package plain). It is for one goroutine.
type Conversation struct {
	Session Session
	Items   []*Item // in order
	Run     *Run    // the active one, or nil
	Last    *Run    // the one that ended last, or nil
	Asks    []Ask   // what waits for a person, the next to answer first
	Queue   []Queued
	Model   string // that the agent said it used

	// Changes counts what may make an answer about the session stale: one that
	// was asked for at another count must be asked for again.
	Changes int

	log     []client.Event   // all events read, by seq
	known   map[string]bool  // runs that have begun or ended
	over    map[string]bool  // runs that have ended
	settled map[string]bool  // approvals that are answered
	cleaner plain.Cleaner    // of the text that is being said
	tools   map[string]*Item // by run and tool call
	status  string           // of the session, as events told it last
}

// Session is what a conversation knows of its session.
type Session struct {
	ID, Name, Agent string
	Status          string // SESSION_STATUS_*
	PauseReason     string
	PausePending    bool
	Message         string // why it failed
	Terminal        string // why the conversation has ended; empty: it has not
	NoInput         bool   // it has no agent
}

// Run is one turn.
type Run struct {
	ID         string
	Started    time.Time
	Ended      time.Time // zero while it works
	In, Out    int64     // tokens
	CostMicros int64     // millionths of a US dollar
	Cancelled  bool
	Failed     bool

	steps    map[string]bool // whose tokens are counted
	answered bool            // the agent's answer was said in pieces
}

// Queued is an input that waits for its turn.
type Queued struct {
	Run  string
	Text string
}

// Ask is a question that keeps the run waiting.
type Ask struct {
	ID, Run string
	Tool    string // key of the item that it is about; may be empty
	Details client.ApprovalDetails
	Later   bool // a person left it for later
}

// New begins a conversation of a session of which nothing is known but this.
func New(s client.Session) *Conversation {
	c := &Conversation{}
	c.reset()
	c.SetSession(s)
	return c
}

func (c *Conversation) reset() {
	c.Items, c.Run, c.Last, c.Asks, c.log = nil, nil, nil, nil, nil
	c.known, c.over, c.settled = map[string]bool{}, map[string]bool{}, map[string]bool{}
	c.tools, c.cleaner, c.status = map[string]*Item{}, plain.Cleaner{}, ""
}

// SetSession takes over what the server says of the session now.
func (c *Conversation) SetSession(s client.Session) {
	c.Session = Session{
		ID: s.SessionID, Name: plain.CleanLine(s.Name), Agent: plain.CleanLine(s.Adapter),
		Status: s.Status, PauseReason: plain.CleanLine(s.PauseReason), PausePending: s.PausePending,
		Message: plain.CleanLine(s.Message), Terminal: plain.CleanLine(s.Terminal),
		NoInput: s.AgentKind == "AGENT_KIND_NONE",
	}
}

// SetRuns takes over which inputs wait; runs may be newest first and of any
// state.
func (c *Conversation) SetRuns(runs []client.Run) {
	var queue []Queued
	for _, r := range slices.Backward(runs) {
		if r.State == client.RunQueued && !c.known[r.RunID] {
			queue = append(queue, Queued{Run: r.RunID, Text: plain.Clean(r.Text)})
		}
	}
	c.Queue = queue
}

// SetApprovals adds what waits for a person; what came by events is known.
func (c *Conversation) SetApprovals(list []client.Approval) {
	for _, a := range list {
		c.addAsk(Ask{ID: a.RequestID, Run: a.RunID, Details: a.Details})
	}
}

func (c *Conversation) addAsk(a Ask) {
	if !c.settled[a.ID] && !c.over[a.Run] && !slices.ContainsFunc(c.Asks, func(k Ask) bool { return k.ID == a.ID }) {
		c.Asks = append(c.Asks, a)
	}
}

// Sent notes an input of this person that the server took.
func (c *Conversation) Sent(run, text string) {
	c.Changes++
	if !c.known[run] && !slices.ContainsFunc(c.Queue, func(q Queued) bool { return q.Run == run }) {
		c.Queue = append(c.Queue, Queued{Run: run, Text: plain.Clean(text)})
	}
}

// First is the id of the oldest event read; empty when there is none.
func (c *Conversation) First() string {
	if len(c.log) == 0 {
		return ""
	}
	return c.log[0].EventID
}

// Begins says whether the beginning of the history has been read.
func (c *Conversation) Begins() bool { return len(c.log) > 0 && c.log[0].Seq == 1 }

// Before puts an older part of the history in front.
func (c *Conversation) Before(older []client.Event) {
	all := append(slices.Clone(older), c.log...)
	session, changes, asks := c.Session, c.Changes, c.Asks
	c.reset()
	for _, e := range all {
		c.Apply(e)
	}
	// What is true now is no matter of the past.
	c.Session, c.Changes = session, changes
	for _, a := range asks {
		c.addAsk(a)
	}
}

// Waiting says whether the run waits for a person.
func (c *Conversation) Waiting() bool { return len(c.Asks) > 0 }

// Gone says whether the session has ended for good.
func (c *Conversation) Gone() bool {
	switch c.Session.Status {
	case client.SessionDestroying, client.SessionDestroyed, client.SessionFailed:
		return true
	}
	return false
}
