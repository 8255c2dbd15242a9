package gvisor

import (
	"slices"
	"testing"
	"time"

	"paddock/internal/sandbox"
)

// BenchmarkStart measures from Start until the guest has dialled, and reports
// medians of it and of the steps that take long.
func BenchmarkStart(b *testing.B) {
	d := mustOpen(b, "runtime")
	took := map[string][]time.Duration{}
	for b.Loop() {
		began := time.Now()
		last := began
		d.passed = func(step string) {
			took[step] = append(took[step], time.Since(last))
			last = time.Now()
		}
		m := benchMachine(b, d)
		conn, err := m.Control().Accept()
		if err != nil {
			b.Fatal(err)
		}
		took["dial"] = append(took["dial"], time.Since(last))
		took["all"] = append(took["all"], time.Since(began))
		b.StopTimer()
		conn.Close()
		if err := d.Destroy(b.Context(), m.Handle()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	for step, times := range took {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, step+"-ms")
	}
}

// BenchmarkPauseResume measures a pause and a resume together.
func BenchmarkPauseResume(b *testing.B) {
	d := mustOpen(b, "runtime")
	m := benchMachine(b, d)
	defer d.Destroy(b.Context(), m.Handle())
	for b.Loop() {
		if err := m.Pause(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := m.Resume(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDestroy measures the removal of a running machine.
func BenchmarkDestroy(b *testing.B) {
	d := mustOpen(b, "runtime")
	for b.Loop() {
		b.StopTimer()
		m := benchMachine(b, d)
		b.StartTimer()
		if err := d.Destroy(b.Context(), m.Handle()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchMachine(b *testing.B, d *Driver) sandbox.Machine {
	b.Helper()
	spec := testSpec()
	handle, err := d.Plan(spec)
	if err != nil {
		b.Fatal(err)
	}
	m, err := d.Start(b.Context(), handle, spec)
	if err != nil {
		b.Fatal(err)
	}
	return m
}
