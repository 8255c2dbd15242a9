package guest

import (
	"slices"
	"testing"

	"paddock/internal/guest/proc"
)

func use(pid, session int, member bool, mib int64) proc.Use {
	return proc.Use{Task: proc.Task{Pid: pid, Start: uint64(pid)}, Session: session, Member: member, Bytes: mib << 20}
}

func TestWhoIsEndedForMemory(t *testing.T) {
	const agent = 10
	for name, c := range map[string]struct {
		uses []proc.Use
		need int64 // MiB; negative: of what was not seen
		want []int // pids, in order
	}{
		"nobody":                {nil, 1, nil},
		"the only process":      {[]proc.Use{use(20, 20, false, 1)}, 500, []int{20}},
		"a large exec":          {[]proc.Use{use(20, 20, false, 900), use(agent, 10, true, 80), use(11, 11, true, 50)}, 100, []int{20}},
		"a tool of the agent":   {[]proc.Use{use(20, 20, false, 30), use(agent, 10, true, 80), use(11, 11, true, 700)}, 100, []int{11}},
		"the agent itself":      {[]proc.Use{use(20, 20, false, 30), use(agent, 10, true, 700), use(11, 11, true, 80)}, 100, []int{agent}},
		"enough, the largest":   {[]proc.Use{use(20, 20, false, 9), use(11, 10, true, 5), use(12, 12, true, 8), use(13, 13, true, 7)}, 14, []int{12, 13}},
		"many small of a tree":  {[]proc.Use{use(20, 20, false, 30), use(agent, 10, true, 10), use(11, 11, true, 20), use(12, 12, true, 20)}, 99, []int{11, 12}},
		"of an exec's session":  {[]proc.Use{use(20, 20, false, 30), use(21, 20, false, 30), use(agent, 10, true, 50)}, 1, []int{20}},
		"a helper holds a file": {[]proc.Use{use(agent, 10, true, 19), use(11, 11, true, 18)}, -900, []int{11}},
		"the agent holds one":   {[]proc.Use{use(agent, 10, true, 19)}, -900, []int{agent}},
		"a tree is one, anyhow": {[]proc.Use{use(agent, 10, true, 9), use(11, 11, true, 8), use(20, 20, false, 12)}, 1, []int{agent}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			if owners := byOwner(c.uses); len(owners) > 0 {
				for _, u := range victims(owners[0], agent, max(c.need, -c.need)<<20, c.need < 0) {
					got = append(got, u.Pid)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestSuspectOfHiddenMemory(t *testing.T) {
	owners := byOwner([]proc.Use{use(20, 20, false, 30), use(30, 30, false, 1)})
	if s := suspect(owners); s.session != 30 {
		t.Errorf("without an agent: %+v", s)
	}
	if s := suspect(append(owners, owner{agent: true})); !s.agent {
		t.Errorf("with an agent: %+v", s)
	}
}
