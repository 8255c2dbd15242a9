package screen

import (
	"context"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"paddock/client"
	"paddock/internal/cli/chat"
)

// Terminal is where a chat takes place.
type Terminal struct {
	In      io.Reader
	Out     io.Writer
	Env     []string // TERM, NO_COLOR, …
	NoColor bool
}

// Result is how a chat ended.
type Result struct {
	Ending Ending
	Err    error // of Lost
	Talk   *chat.Conversation
	Unsent []string // prompts that the server may not have taken
}

// forever is how long a chat waits for a server that is away: until the person
// leaves.
const forever = 365 * 24 * time.Hour

// Run chats until the person leaves, the session is gone, or ctx ends, and puts
// the terminal back as it was. An error is a failure to begin, or of the
// terminal.
func Run(ctx context.Context, c Config, t Terminal) (Result, error) {
	ctx, end := context.WithCancel(ctx)
	f := &feed{got: make(chan any, mostGathered)}
	defer f.work.Wait()
	defer end()
	stream, err := c.API.Events(ctx, c.Session.SessionID, client.EventsOptions{GiveUp: forever, OnState: f.state(ctx)})
	if err != nil {
		return Result{}, err
	}
	defer stream.Close()

	m := newModel(c,
		func(what call) tea.Cmd { return func() tea.Msg { return what(ctx) } },
		func(d time.Duration, msg tea.Msg) tea.Cmd { return tea.Tick(d, func(time.Time) tea.Msg { return msg }) })
	options := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Out), tea.WithEnvironment(t.Env),
		tea.WithoutSignalHandler(), tea.WithFPS(30),
	}
	if t.NoColor {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	p := tea.NewProgram(m, options...)
	f.send = p.Send
	f.start(ctx, stream)
	if _, err := p.Run(); err != nil {
		return Result{}, err
	}
	return Result{m.ending, m.err, m.talk, m.unsentTexts()}, nil
}
