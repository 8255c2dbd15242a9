package top

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"paddock/client"
	"paddock/internal/plain"
)

// The columns; the widths of those of text depend on what is in them and on the
// terminal.
const (
	stateWidth  = len("waits for you")
	cpuWidth    = len("CPU %")
	sizeWidth   = len("1023 MiB")
	leastName   = 8
	mostName    = 32
	leastAction = 12
)

// Lines draws the table in so many columns and lines: a summary, a header, and
// the first rows. Without a height all rows are drawn.
func (t Table) Lines(width, height int) []string {
	name := leastName
	for _, r := range t.Sessions {
		name = max(name, ansi.StringWidth(plain.CleanLine(r.Name)))
	}
	const others = stateWidth + cpuWidth + 2*sizeWidth + 5*2
	name = min(name, mostName, max(leastName, width-others-leastAction))
	draw := func(n, state, cpu, memory, disk, activity string) string {
		line := pad(n, name) + "  " + pad(state, stateWidth) + "  " + right(cpu, cpuWidth) + "  " + right(memory, sizeWidth) + "  " + right(disk, sizeWidth) + "  " + activity
		return strings.TrimRight(ansi.Truncate(line, width, "…"), " ")
	}
	lines := []string{ansi.Truncate(t.Summary(), width, "…"), draw("NAME", "STATE", "CPU %", "MEMORY", "DISK", "ACTIVITY")}
	for i, r := range t.Sessions {
		left := len(t.Sessions) - i
		if height > 0 && len(lines) == height-1 && left > 1 {
			return append(lines, ansi.Truncate(fmt.Sprintf("… and %d more", left), width, "…"))
		}
		lines = append(lines, draw(plain.CleanLine(r.Name), r.state(), r.cpu(), r.size(r.MemoryBytes), r.size(r.DiskBytes), r.activity()))
	}
	if height > 0 && len(lines) > height {
		lines = lines[:height]
	}
	return lines
}

// Summary says in one line how all sessions together are.
func (t Table) Summary() string {
	var working, waiting, paused int
	var cpu float64
	var memory, disk int64
	for _, r := range t.Sessions {
		switch {
		case r.Run != nil && r.Run.State == client.RunAwaiting:
			waiting++
		case r.Run != nil:
			working++
		case r.Status == client.SessionPaused:
			paused++
		}
		cpu += max(0, r.percent())
		memory += r.MemoryBytes
		disk += r.DiskBytes
	}
	return fmt.Sprintf("%s: %d running, %d waiting, %d paused   CPU %.0f %%, memory %s, disk %s",
		count(len(t.Sessions)), working, waiting, paused, cpu, Bytes(memory), Bytes(disk))
}

func count(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}

func pad(text string, width int) string {
	text = ansi.Truncate(text, width, "…")
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(text))) + text
}
