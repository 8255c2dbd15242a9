package screen

import (
	"fmt"
	"strconv"
	"time"

	"paddock/internal/cli/chat/styled"
)

// The looks of the chat: few, and none that only colour tells.
func plainText(s string) styled.Line { return styled.Text(s, styled.Style{}) }
func faint(s string) styled.Line     { return styled.Text(s, styled.Style{Look: styled.Faint}) }
func bold(s string) styled.Line      { return styled.Text(s, styled.Style{Look: styled.Bold}) }

func colored(s string, c styled.Color) styled.Line {
	return styled.Text(s, styled.Style{Color: c})
}

func accent(s string) styled.Line {
	return styled.Text(s, styled.Style{Color: styled.Accent, Look: styled.Bold})
}

// cat puts lines one behind the other in a line.
func cat(parts ...styled.Line) styled.Line {
	var l styled.Line
	for _, p := range parts {
		l = append(l, p...)
	}
	return l
}

// margin is what stands left of what the agent says and does.
const margin = "  "

// lasted says how long something took: 20 ms, 0.2 s, 12 s, 3 min 4 s, 2 h 5 min.
func lasted(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", max(0, d.Milliseconds()))
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

// ticking says how long something has lasted so far, in whole seconds.
func ticking(d time.Duration) string {
	if d < 10*time.Second {
		return strconv.Itoa(max(0, int(d.Seconds()))) + " s"
	}
	return lasted(d)
}

// count writes a number of tokens: 950, 1.2k, 35k, 1.2M.
func count(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return strconv.FormatInt(n/1000, 10) + "k"
	default:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
}

// spent says what a run used; empty when nothing is known.
func spent(in, out, micros int64) string {
	text := ""
	if in+out > 0 {
		text = count(in) + " in, " + count(out) + " out"
	}
	if micros > 0 {
		if text != "" {
			text += " · "
		}
		text += fmt.Sprintf("$%.*f", cents(micros), float64(micros)/1e6)
	}
	return text
}

// cents is how many digits a sum needs: small ones more.
func cents(micros int64) int {
	if micros < 100_000 {
		return 4
	}
	return 2
}
