package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock/client"
	"paddock/internal/plain"
)

// Row is one session of the table.
type Row struct {
	client.SandboxStats
	// CPUPercent is how busy its sandbox was between two readings, of one CPU;
	// nil when there is only one.
	CPUPercent *float64 `json:"cpu_percent,omitempty"`
}

// Table is what was read at one moment.
type Table struct {
	At       time.Time `json:"at"`
	Sessions []Row     `json:"sessions"`
}

// NewTable makes a table of a reading and the table before it, if there is one.
func NewTable(at time.Time, stats []client.SandboxStats, before Table) Table {
	old := map[string]client.SandboxStats{}
	for _, r := range before.Sessions {
		old[r.SessionID] = r.SandboxStats
	}
	t := Table{At: at, Sessions: make([]Row, 0, len(stats))}
	for _, s := range stats {
		row := Row{SandboxStats: s}
		if was, ok := old[s.SessionID]; ok && !s.ReadAt.IsZero() && !was.ReadAt.IsZero() {
			row.CPUPercent = busy(was, s)
		}
		t.Sessions = append(t.Sessions, row)
	}
	return t
}

// busy is how busy a sandbox was between two readings. What is frozen is not
// read again, and does nothing.
func busy(was, is client.SandboxStats) *float64 {
	percent := 0.0
	if d := is.ReadAt.Sub(was.ReadAt).Seconds(); d > 0 && is.CPUSeconds >= was.CPUSeconds {
		percent = 100 * (is.CPUSeconds - was.CPUSeconds) / d
	} else if is.Status != client.SessionPaused {
		return nil // read once only, or another sandbox than before
	}
	return &percent
}

// Orders are the columns that a table can be in the order of.
var Orders = []string{"cpu", "memory", "disk", "name", "state", "age"}

// Sort puts the rows in an order: of numbers the highest first, and of equals by
// name.
func (t Table) Sort(order string) {
	slices.SortStableFunc(t.Sessions, func(a, b Row) int {
		c := 0
		switch order {
		case "cpu":
			c = cmp.Compare(b.percent(), a.percent())
		case "memory":
			c = cmp.Compare(b.MemoryBytes, a.MemoryBytes)
		case "disk":
			c = cmp.Compare(b.DiskBytes, a.DiskBytes)
		case "state":
			c = strings.Compare(a.state(), b.state())
		case "age":
			c = b.CreatedAt.Compare(a.CreatedAt)
		}
		return cmp.Or(c, strings.Compare(a.Name, b.Name))
	})
}

// percent is the CPU of a row, what is not known below everything.
func (r Row) percent() float64 {
	if r.CPUPercent == nil {
		return -1
	}
	return *r.CPUPercent
}

// state is where the session stands, in a word or three.
func (r Row) state() string {
	switch {
	case r.Run != nil && r.Run.State == client.RunAwaiting:
		return "waits for you"
	case r.Run != nil:
		return "running"
	}
	return strings.ToLower(strings.TrimPrefix(r.Status, "SESSION_STATUS_"))
}

// activity is what the session is at.
func (r Row) activity() string {
	text := ""
	switch {
	case r.ToolCall != nil:
		text = strings.TrimSpace(r.ToolCall.Name + "  " + r.ToolCall.Summary)
	case r.Run != nil && r.Run.State == client.RunAwaiting:
		text = "a question"
	case r.Run != nil:
		text = "thinks"
	case r.PauseReason != "":
		text = strings.ReplaceAll(r.PauseReason, "_", " ")
	}
	if r.QueuedRuns > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s +%d queued", text, r.QueuedRuns))
	}
	return strings.Join(strings.Fields(plain.CleanLine(text)), " ")
}

func (r Row) cpu() string {
	if r.CPUPercent == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", *r.CPUPercent)
}

// size is a number of bytes for people, in four characters and a unit; nothing
// was read when there is no time of the reading.
func (r Row) size(bytes int64) string {
	if r.ReadAt.IsZero() {
		return "-"
	}
	return Bytes(bytes)
}

// Bytes is a number of bytes for people: 12 KiB, 1.5 GiB.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit > 0 && value < 10 {
		return fmt.Sprintf("%.1f %s", value, units[unit])
	}
	return fmt.Sprintf("%.0f %s", value, units[unit])
}
