package gateway

import (
	"fmt"
	"testing"
	"time"

	"paddock/internal/sandbox"
)

func TestDenials(t *testing.T) {
	var told []sandbox.Denial
	d := newDenials(func(one sandbox.Denial) { told = append(told, one) })
	now := time.Now()
	one := sandbox.Denial{Protocol: "tcp", Host: "10.1.2.3", Port: 80}
	for range 100 {
		d.add(one, now)
	}
	if len(told) != 1 || told[0] != one {
		t.Fatalf("the same 100 times: %+v", told)
	}
	for i := range 100 {
		d.add(sandbox.Denial{Protocol: "tcp", Host: fmt.Sprint(i)}, now)
	}
	if len(told) != mostDenials {
		t.Errorf("of many different ones %d were told, want %d", len(told), mostDenials)
	}
	told = nil
	d.add(one, now.Add(sameAgain))
	if len(told) != 1 || told[0].More != 99+100-mostDenials+1 {
		t.Errorf("a minute later: %+v", told)
	}
}
