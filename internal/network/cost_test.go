package network

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"paddock/internal/sandbox"
)

// BenchmarkAttach measures what a machine's network takes to make, and holds.
func BenchmarkAttach(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("making network namespaces needs root")
	}
	u, err := New(Options{Folder: b.TempDir(), Authority: b.TempDir(), Connections: 512})
	if err != nil {
		b.Skipf("no network here: %v", err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	n := 0
	for b.Loop() {
		if _, err := u.Attach(b.Context(), fmt.Sprint(n), sandbox.Egress{All: true}, nil); err != nil {
			b.Fatal(err)
		}
		n++
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n)/1024, "KiB/network")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(n), "goroutines/network")
	for i := range n {
		if err := u.Detach(b.Context(), fmt.Sprint(i)); err != nil {
			b.Error(err)
		}
	}
}
