package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// OtherRoute is that of calls which no route serves.
const OtherRoute = "other"

// methods are those that have a label; others are "other".
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// Call notes that the answer to a call has begun, after d. A route is a pattern
// of the table of routes, never a path that somebody asked for.
func (m *Metrics) Call(method, route string, status int, d time.Duration) {
	if m == nil {
		return
	}
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.calls.WithLabelValues(method, route, class(status)).Observe(d.Seconds())
}

// class is the class of a status, e.g. 2xx; 0 is a call that had no answer.
func class(status int) string {
	if status < 100 || status > 599 {
		return "none"
	}
	return strconv.Itoa(status/100) + "xx"
}

// Begin counts a call in; the function returned counts it out.
func (m *Metrics) Begin(route string) (end func()) {
	if m == nil {
		return func() {}
	}
	gauge := m.inFlight.WithLabelValues(route)
	gauge.Inc()
	return gauge.Dec
}
