package screen

import (
	"context"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"

	"paddock/client"
	"paddock/internal/cli/chat"
	"paddock/internal/cli/chat/markdown"
)

// API is what the chat asks of the server; *client.Client has it.
type API interface {
	InputOnce(ctx context.Context, ref, key, text string) (run string, err error)
	Cancel(ctx context.Context, ref, run string) (client.CancelAnswer, error)
	Answer(ctx context.Context, ref, approval string, answer client.AnswerRequest) error
	Approvals(ctx context.Context, ref string, all bool) ([]client.Approval, error)
	Runs(ctx context.Context, ref string, pageSize int, pageToken string) (client.RunList, error)
	Session(ctx context.Context, ref string) (client.Session, error)
	Events(ctx context.Context, ref string, options client.EventsOptions) (*client.EventStream, error)
}

// focus is where keys go.
type focus int

const (
	onInput    focus = iota // a prompt is typed
	onAsk                   // a question is answered by a key
	onReason                // why it is refused is typed
	onField                 // an answer is typed
	onBrowsing              // a line of the conversation is chosen
)

// Ending is why a chat ended.
type Ending string

// The endings.
const (
	Detached Ending = "detached" // the person left
	Gone     Ending = "gone"     // the session was removed or failed
	Lost     Ending = "lost"     // the stream ended with an error
)

// Model is the chat. It is for the one goroutine that Bubble Tea gives it.
type Model struct {
	api     API
	talk    *chat.Conversation
	now     func() time.Time
	explain func(error) string
	do      func(call) tea.Cmd                   // runs a call while the chat lasts
	later   func(time.Duration, tea.Msg) tea.Cmd // gives a message when some time has gone by

	width, height int
	input         textarea.Model
	focus         focus
	lastKey       time.Time
	draft         string // the prompt that waits while something else is typed
	recalled      int    // how many prompts back the input shows; 0: none
	unsent        string // what was typed before the first recall

	ask  answering
	view transcript

	outbox  []letter // typed, not yet taken by the server; the first is on its way
	notice  notice
	link    string // how the stream stands: live, catching_up, reconnecting
	ticking bool
	ticks   int

	refreshing bool
	older      bool // an older part of the history is on its way

	armed      time.Time // of the first Ctrl-C
	cancelling string    // the run that is being cancelled

	ending Ending
	err    error // of Lost
}

// letter is a prompt on its way. Its key lets it be sent again when the answer
// was lost.
type letter struct{ text, key string }

func write(text string) letter { return letter{text, uuid.NewString()} }

// notice is one sentence to the person.
type notice struct {
	text string
	grim bool      // it stays until it is dealt with
	at   time.Time // when it came
}

// How long things last.
const (
	noticeFor = 6 * time.Second
	armedFor  = 3 * time.Second
	// A question takes the keys only when nobody has just been typing.
	quietFor = time.Second
	// Other people's inputs are looked for now and then.
	lookEvery = 5 // ticks
)

// Config is what a chat starts with.
type Config struct {
	API     API
	Session client.Session
	Prompt  string // said first; may be empty
	Explain func(error) string
	Now     func() time.Time
}

func newModel(c Config, do func(call) tea.Cmd, later func(time.Duration, tea.Msg) tea.Cmd) *Model {
	m := &Model{
		api: c.API, talk: chat.New(c.Session), now: c.Now, explain: c.Explain, do: do, later: later,
		width: 80, height: 24, link: catchingUp,
	}
	m.view = transcript{open: map[string]bool{}, laid: map[string]*laidOut{}, markdown: markdown.New()}
	m.input = newInput()
	if c.Prompt != "" {
		m.outbox = []letter{write(c.Prompt)}
	}
	return m
}

// How the stream stands.
const (
	catchingUp   = "catching_up"
	live         = "live"
	reconnecting = "reconnecting"
)

// Init asks for what events do not tell, and says the first prompt.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.refresh(), m.do(m.getApprovals), m.input.Focus()}
	if len(m.outbox) > 0 {
		cmds = append(cmds, m.send())
	}
	return tea.Batch(cmds...)
}

// Update takes the next message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.resizeInput()
	case tea.KeyPressMsg:
		cmd = m.key(msg)
		m.lastKey = m.now()
	case tea.PasteMsg:
		if m.typing() {
			m.input, cmd = m.input.Update(msg)
			m.lastKey = m.now()
		}
	case tea.MouseWheelMsg:
		cmd = m.wheel(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	case eventsMsg:
		cmd = m.events(msg)
	case streamMsg:
		cmd = m.stream(msg)
	case endMsg:
		cmd = m.ended(msg)
	case tickMsg:
		m.ticking = false
		if m.ticks++; m.ticks%lookEvery == 0 && m.talk.Run != nil {
			cmd = m.refresh()
		}
	case answer:
		cmd = msg.apply(m)
	default:
		m.input, cmd = m.input.Update(msg)
	}
	m.attend()
	return m, tea.Batch(cmd, m.tick())
}

// leave ends the chat.
func (m *Model) leave(why Ending, err error) tea.Cmd {
	m.ending, m.err = why, err
	return tea.Quit
}

func (m *Model) say(text string)     { m.notice = notice{text: text, at: m.now()} }
func (m *Model) sayGrim(text string) { m.notice = notice{text: text, grim: true, at: m.now()} }

// tickMsg comes once a second while something on the screen depends on time.
type tickMsg struct{}

func (m *Model) tick() tea.Cmd {
	waits := m.notice.text != "" && !m.notice.grim
	if m.ticking || m.talk.Run == nil && !waits {
		return nil
	}
	m.ticking = true
	return m.later(time.Second, tickMsg{})
}
