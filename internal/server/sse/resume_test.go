package sse_test

import (
	"fmt"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"paddock/internal/server/sse"
)

// TestAnyInterleavingGivesExactlyTheLog appends, reads, leaves and comes back in
// any order: what the reader has in the end is the log, once and in order.
func TestAnyInterleavingGivesExactlyTheLog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := newMemory()
		s := serve(rt, log, sse.Options{})
		var written, read []string
		var current *reader
		leave := func() {
			if current != nil {
				current.response.Body.Close()
				current = nil
			}
		}
		come := func() {
			if current != nil {
				return
			}
			cursor := ""
			if len(read) > 0 {
				cursor = read[len(read)-1]
			}
			current = s.open(t, "/", "Last-Event-ID", cursor)
		}
		// take reads n events, passing over the frames about the stream.
		take := func(n int) {
			for n > 0 {
				event, ok := current.next()
				if !ok {
					rt.Fatalf("the stream ended, %d events are missing", n)
				}
				if event.Kind == godo.HostedAgentEventKindStreamState {
					continue
				}
				if event.Seq != uint64(len(read)+1) {
					rt.Fatalf("seq %d after %d events", event.Seq, len(read))
				}
				read = append(read, event.EventID)
				n--
			}
		}
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			step := rapid.SampledFrom([]string{"append", "append many", "read", "leave"}).Draw(rt, fmt.Sprintf("step %d", i))
			switch step {
			case "append":
				written = append(written, log.fill(rapid.IntRange(1, 5).Draw(rt, "events"))...)
			case "append many":
				written = append(written, log.fill(rapid.IntRange(250, 520).Draw(rt, "events"))...)
			case "read":
				come()
				take(rapid.IntRange(0, len(written)-len(read)).Draw(rt, "count"))
			case "leave":
				leave()
			}
		}
		come()
		written = append(written, log.fill(1)...)
		log.end()
		take(len(written) - len(read))
		if diff := cmp.Diff(written, read); diff != "" {
			rt.Fatalf("(-log +read)\n%s", diff)
		}
		for {
			event, ok := current.next()
			if !ok {
				break
			}
			if event.Kind != godo.HostedAgentEventKindStreamState {
				rt.Fatalf("something follows the log: %+v", event)
			}
		}
		leave()
	})
}
