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
	aim  time.Duration // of the median; 0: none
	most time.Duration // of 99 in 100; 0: none
	of   []time.Duration
}

// table is all of them, in the order in which they were first added to.
type table struct{ rows []*series }

// add notes a sample.
func (t *table) add(name string, aim, sample time.Duration) { t.addBound(name, aim, 0, sample) }

// addBound notes a sample of which 99 in 100 are to be at most most.
func (t *table) addBound(name string, aim, most, sample time.Duration) {
	i := slices.IndexFunc(t.rows, func(s *series) bool { return s.name == name })
	if i < 0 {
		t.rows = append(t.rows, &series{name: name, aim: aim, most: most})
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
	fmt.Fprintln(w, "ms\tn\tmin\tmedian\tp95\tp99\tmax\taim\t\t")
	for _, s := range t.rows {
		fmt.Fprintf(w, "%s\t%d", s.name, len(s.of))
		for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
			fmt.Fprintf(w, "\t%s", ms(s.quantile(q)))
		}
		fmt.Fprintf(w, "\t%s\t%s\t\n", s.wish(), s.verdict())
	}
	_ = w.Flush()
}

// wish says what is aimed at.
func (s *series) wish() string {
	switch {
	case s.aim == 0:
		return ""
	case s.most == 0:
		return "≤ " + ms(s.aim)
	}
	return "≤ " + ms(s.aim) + ", p99 ≤ " + ms(s.most)
}

// verdict says whether it is reached.
func (s *series) verdict() string {
	switch {
	case s.aim == 0:
		return ""
	case s.quantile(0.5) > s.aim || s.most > 0 && s.quantile(0.99) > s.most:
		return "missed"
	}
	return "reached"
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
