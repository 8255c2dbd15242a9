package metrics

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"paddock/internal/event"
	"paddock/internal/session"
)

const namespace = "paddock"

// The bounds of histograms, in seconds: what is done in memory or on the disk,
// and what may take as long as a start or a person's command.
var (
	quick = []float64{.0005, .001, .002, .004, .008, .015, .03, .06, .125, .25, .5, 1, 2.5, 5, 10}
	long  = []float64{.002, .005, .01, .02, .035, .05, .075, .1, .15, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 600}
)

// Metrics is all that one server counts.
type Metrics struct {
	registry *prometheus.Registry

	sessions  *prometheus.GaugeVec
	runs      *prometheus.GaugeVec
	runsEnded *prometheus.CounterVec
	events    *prometheus.CounterVec
	lag       prometheus.Histogram
	commits   prometheus.Histogram
	verbs     *prometheus.HistogramVec
	calls     *prometheus.HistogramVec
	inFlight  *prometheus.GaugeVec
}

// New makes the metrics of a server of this version.
func New(version string) *Metrics {
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		sessions:  gauges("sessions", "Sessions that exist, by state.", "state"),
		runs:      gauges("runs", "Runs that have not ended, by state.", "state"),
		runsEnded: counters("runs_ended_total", "Runs that ended since the server started, by outcome.", "outcome"),
		events:    counters("events_total", "Events stored since the server started, by kind.", "kind"),
		lag:       histogram("event_lag_seconds", "From an event's append until it is durable and its readers are told.", quick),
		commits:   histogram("store_update_seconds", "Updates of the store, from the call until they are durable.", quick),
		verbs:     histograms("verb_duration_seconds", "What the server does, by verb and outcome; create lasts until the session is ready, remove until nothing of it is left.", long, "verb", "outcome"),
		calls:     histograms("http_request_duration_seconds", "HTTP calls until their answer begins, by method, route and class of status.", long, "method", "route", "status"),
		inFlight:  gauges("http_requests_in_flight", "HTTP calls under way, streams included, by route.", "route"),
	}
	build := gauges("build_info", "Always 1; the label is the version of the server.", "version")
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(m.sessions, m.runs, m.runsEnded, m.events, m.lag, m.commits, m.verbs, m.calls, m.inFlight, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.begin()
	return m
}

// begin makes what has not happened yet a zero and not an absence.
func (m *Metrics) begin() {
	for _, s := range session.States {
		if s != session.Destroyed {
			m.sessions.WithLabelValues(string(s))
		}
	}
	for _, s := range session.RunStates {
		if s.Ended() {
			m.runsEnded.WithLabelValues(string(s))
		} else {
			m.runs.WithLabelValues(string(s))
		}
	}
	for _, k := range event.Kinds {
		m.events.WithLabelValues(string(k))
	}
}

// Handler serves the metrics in Prometheus's formats. What cannot be read just
// now is left out and logged.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: problems{log}, MaxRequestsInFlight: 4,
	})
}

type problems struct{ log *slog.Logger }

// Println is part of promhttp.Logger.
func (p problems) Println(v ...any) { p.log.Warn("read metrics", "error", v) }

// Lag notes how long an event took from its append to its readers.
func (m *Metrics) Lag(d time.Duration) {
	if m != nil {
		m.lag.Observe(d.Seconds())
	}
}

// Update notes how long an update of the store took.
func (m *Metrics) Update(d time.Duration) {
	if m != nil {
		m.commits.Observe(d.Seconds())
	}
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, bounds []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds})
}

func histograms(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds}, labels)
}
