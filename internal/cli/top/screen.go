package top

import (
	"context"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Config is what the live table shows, and where.
type Config struct {
	Read    func(ctx context.Context, before Table) (Table, error)
	Explain func(error) string
	Every   time.Duration
	Order   string

	In      io.Reader
	Out     io.Writer
	Env     []string // TERM, NO_COLOR, …
	NoColor bool
}

// Run shows the table until the person leaves or ctx ends, and puts the terminal
// back as it was.
func Run(ctx context.Context, c Config) error {
	options := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithEnvironment(c.Env), tea.WithoutSignalHandler(),
	}
	if c.NoColor {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	_, err := tea.NewProgram(newModel(ctx, c), options...).Run()
	return err
}

// model is the live table. It is for the one goroutine that Bubble Tea gives it.
type model struct {
	config        Config
	read          func(before Table) tea.Cmd
	table         Table
	problem       string
	width, height int
}

// reading is what came of one look.
type reading struct {
	table Table
	err   error
}

// again asks for the next look.
type again struct{}

func newModel(ctx context.Context, c Config) *model {
	return &model{config: c, width: 80, height: 24, read: func(before Table) tea.Cmd {
		return func() tea.Msg {
			t, err := c.Read(ctx, before)
			return reading{t, err}
		}
	}}
}

// Init is part of tea.Model.
func (m *model) Init() tea.Cmd { return m.read(Table{}) }

// Update is part of tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	case again:
		return m, m.read(m.table)
	case reading:
		every := m.config.Every
		if msg.err != nil {
			m.problem = m.config.Explain(msg.err)
		} else {
			if len(m.table.Sessions) == 0 {
				every = min(every, time.Second) // the first CPU times need two looks
			}
			m.table, m.problem = msg.table, ""
			m.table.Sort(m.config.Order)
		}
		return m, tea.Tick(every, func(time.Time) tea.Msg { return again{} })
	}
	return m, nil
}

// keys are the orders by the key that chooses them.
var keys = map[string]string{"c": "cpu", "m": "memory", "d": "disk", "n": "name", "s": "state", "a": "age"}

func (m *model) key(key string) tea.Cmd {
	switch order, ok := keys[key]; {
	case ok:
		m.config.Order = order
		m.table.Sort(order)
	case key == "q" || key == "esc" || key == "ctrl+c":
		return tea.Quit
	}
	return nil
}

// View is part of tea.Model.
func (m *model) View() tea.View {
	view := tea.NewView(strings.Join(m.lines(), "\n"))
	view.AltScreen = true
	return view
}

func (m *model) lines() []string {
	help := "by " + m.config.Order + "   c cpu  m memory  d disk  n name  s state  a age  q quit"
	if m.problem != "" {
		help = "! " + m.problem
	}
	lines := m.table.Lines(m.width, max(1, m.height-1))
	if len(lines) > 1 {
		lines[1] = lipgloss.NewStyle().Bold(true).Render(lines[1])
	}
	return append(lines, lipgloss.NewStyle().Faint(true).Render(pad(help, min(len([]rune(help)), m.width))))
}
