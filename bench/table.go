package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// series is the samples of one measurement.
type series struct {
	name string
	aim  time.Duration // 0: none
	of   []time.Duration
}

// table is all of them, in the order in which they were first added to.
type table struct{ rows []*series }

// add notes a sample.
func (t *table) add(name string, aim, sample time.Duration) {
	i := slices.IndexFunc(t.rows, func(s *series) bool { return s.name == name })
	if i < 0 {
		t.rows = append(t.rows, &series{name: name, aim: aim})
		i = len(t.rows) - 1
	}
	t.rows[i].of = append(t.rows[i].of, sample)
}

// quantile is the sample below which the share q of all lie (nearest rank).
func (s *series) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(s.of))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }

func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ms\tn\tmin\tmedian\tp95\tmax\taim\t\t")
	for _, s := range t.rows {
		aim, verdict := "", ""
		if s.aim > 0 {
			aim, verdict = "≤ "+ms(s.aim), "reached"
			if s.quantile(0.5) > s.aim {
				verdict = "missed"
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", s.name, len(s.of), ms(s.quantile(0)), ms(s.quantile(0.5)), ms(s.quantile(0.95)), ms(s.quantile(1)), aim, verdict)
	}
	_ = w.Flush()
}

// samples gives every sample in milliseconds.
func (t *table) samples() map[string][]float64 {
	all := map[string][]float64{}
	for _, s := range t.rows {
		for _, d := range s.of {
			all[s.name] = append(all[s.name], float64(d.Microseconds())/1000)
		}
	}
	return all
}
