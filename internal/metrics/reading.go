package metrics

import "github.com/prometheus/client_golang/prometheus"

// Reading is what is read at the moment somebody looks. It must be cheap: it may
// grow with the machines that run, never with what is stored.
type Reading struct {
	Adopted  int // sessions that the server found at its start
	Ready    int // spares that wait for a create
	Making   int // spares under way
	Wanted   int // spares that there are to be
	Sessions Use // of the host, by the sandboxes of sessions
	Spares   Use // by those that are nobody's yet
	Host     Host
}

// Use is what sandboxes use of the host, in bytes.
type Use struct{ Memory, Disk int64 }

// Host is what the host has, and has free, in bytes; a zero total is not known.
type Host struct{ Memory, MemoryFree, Disk, DiskFree int64 }

// Watch reads from read whenever somebody looks.
func (m *Metrics) Watch(read func() Reading) {
	if m == nil {
		return
	}
	m.registry.MustRegister(&reader{
		read:    read,
		adopted: describe("adopted_sessions", "Sessions that the server found running when it started."),
		pool:    describe("pool_spares", "Sandboxes started ahead for creates: ready, making, and how many are wanted.", "state"),
		memory:  describe("sandbox_memory_bytes", "Memory that sandboxes use and the host cannot take back, by owner.", "owner"),
		disk:    describe("sandbox_disk_bytes", "Bytes on disk of what was written in sandboxes, by owner.", "owner"),
		host: []hostGauge{
			{describe("host_memory_bytes", "Memory of the host."), func(h Host) int64 { return h.Memory }},
			{describe("host_memory_free_bytes", "Memory of the host that can be given away."), func(h Host) int64 { return h.MemoryFree }},
			{describe("host_disk_bytes", "Size of the disk that the data folder is on."), func(h Host) int64 { return h.Disk }},
			{describe("host_disk_free_bytes", "What is free on it."), func(h Host) int64 { return h.DiskFree }},
		},
	})
}

// reader is a collector of readings.
type reader struct {
	read                        func() Reading
	adopted, pool, memory, disk *prometheus.Desc
	host                        []hostGauge
}

type hostGauge struct {
	desc *prometheus.Desc
	of   func(Host) int64
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

// Describe is part of prometheus.Collector.
func (r *reader) Describe(to chan<- *prometheus.Desc) {
	to <- r.adopted
	to <- r.pool
	to <- r.memory
	to <- r.disk
	for _, g := range r.host {
		to <- g.desc
	}
}

// Collect is part of prometheus.Collector.
func (r *reader) Collect(to chan<- prometheus.Metric) {
	now := r.read()
	gauge := func(d *prometheus.Desc, value int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	gauge(r.adopted, int64(now.Adopted))
	gauge(r.pool, int64(now.Ready), "ready")
	gauge(r.pool, int64(now.Making), "making")
	gauge(r.pool, int64(now.Wanted), "wanted")
	gauge(r.memory, now.Sessions.Memory, "session")
	gauge(r.memory, now.Spares.Memory, "spare")
	gauge(r.disk, now.Sessions.Disk, "session")
	gauge(r.disk, now.Spares.Disk, "spare")
	for _, g := range r.host {
		if value := g.of(now.Host); now.Host.Memory > 0 {
			gauge(g.desc, value)
		}
	}
}
