package journal

import (
	"context"
	"time"

	"paddock/internal/guestapi"
)

// Attach takes over what the host said in its Welcome. In the epoch we number
// in, reports up to Ack are dropped. In another one the reports up to Prior
// (of our epoch) are dropped and the rest is numbered anew, from Ack + 1.
func (j *Journal) Attach(welcome guestapi.Welcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if welcome.Epoch == j.epoch {
		j.drop(welcome.Ack + j.offset)
		if ahead := welcome.Ack + j.offset - j.acked; ahead > 0 {
			j.offset -= ahead // the host has numbers that we never gave: go on after them
		}
	} else {
		if j.epoch != 0 {
			j.drop(welcome.Prior + j.offset)
		}
		j.epoch = welcome.Epoch
		j.offset = j.acked - welcome.Ack
	}
	j.wake()
}

// drop forgets the entries up to place. Locked.
func (j *Journal) drop(place int64) {
	n := min(place-j.acked, int64(len(j.entries)))
	if n <= 0 {
		return
	}
	for i := range j.entries[:n] {
		j.size -= j.entries[i].size
		j.entries[i] = entry{} // let go of its bytes
	}
	j.entries = j.entries[n:]
	j.acked += n
}

// Next waits for something to send and returns it, oldest first: at most
// guestapi.MaxBatchCount reports that fit in guestapi.MaxBatch. They stay in the
// journal until Acked or Attach says that the host has them; asked again, Next
// gives the same ones first. It fails only when ctx is over.
func (j *Journal) Next(ctx context.Context) (guestapi.Batch, error) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		j.mu.Lock()
		n, due := j.ready(time.Now())
		if n > 0 {
			batch := j.take(n)
			j.mu.Unlock()
			return batch, nil
		}
		changed := j.changed
		j.mu.Unlock()
		timer.Reset(due)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			return guestapi.Batch{}, context.Cause(ctx)
		}
	}
}

// ready says how many of the oldest entries may be sent: all but a last one
// that is open and neither due nor flushed. When there are none it says in how
// long to look again. Locked.
func (j *Journal) ready(now time.Time) (n int, due time.Duration) {
	n = len(j.entries)
	if n == 0 {
		return 0, time.Hour
	}
	if d := j.entries[n-1].delta; d != nil && d.due.After(now) && j.flush < j.acked+int64(n) && len(d.text) < CoalesceSize {
		n, due = n-1, d.due.Sub(now)
	}
	return n, due
}

// take gives the first of n entries that fit in a batch. Locked.
func (j *Journal) take(n int) guestapi.Batch {
	batch := guestapi.Batch{Epoch: j.epoch}
	for i, size := 0, overhead; i < min(n, guestapi.MaxBatchCount); i++ {
		e := &j.entries[i]
		e.seal()
		if size += len(e.report.Data) + encodedRaw(len(e.report.SourceRaw)) + overhead; size > guestapi.MaxBatch && i > 0 {
			break
		}
		r := e.report
		r.N = j.acked + 1 + int64(i) - j.offset
		batch.Reports = append(batch.Reports, r)
	}
	return batch
}

// Acked drops what the host has stored. An ack of another epoch says nothing.
func (j *Journal) Acked(ack guestapi.Ack) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ack.Epoch == j.epoch {
		j.drop(ack.N + j.offset)
		j.wake()
	}
}

// Drain returns when every report added before the call is acknowledged, or
// ctx is over.
func (j *Journal) Drain(ctx context.Context) error {
	j.mu.Lock()
	last := j.acked + int64(len(j.entries))
	j.flush = max(j.flush, last)
	j.wake()
	for j.acked < last {
		changed := j.changed
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		j.mu.Lock()
	}
	j.mu.Unlock()
	return nil
}
