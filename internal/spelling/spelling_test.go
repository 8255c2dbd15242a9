package spelling

import "testing"

func TestNearest(t *testing.T) {
	choices := []string{"agent", "command", "idle_timeout", "name"}
	for word, want := range map[string]string{
		"agnet": "agent", "Agent": "agent", "idle-timeout": "idle_timeout", "idletimeout": "idle_timeout",
		"comand": "command", "nmae": "name", "xyzzy": "", "": "", "prompt": "",
	} {
		if got := Nearest(word, choices); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Nearest(string(make([]byte, 1<<20)), choices); got != "" {
		t.Errorf("nonsense is %q", got)
	}
}

func FuzzNearest(f *testing.F) {
	choices := []string{"agent", "idle_timeout", "permissions"}
	f.Add("agnet")
	f.Fuzz(func(t *testing.T, word string) {
		_ = Nearest(word, choices)
		for _, other := range choices {
			d := distance(word, other)
			if d != distance(other, word) || d > max(len(word), len(other)) || (d == 0) != (word == other) {
				t.Errorf("distance of %q and %q is %d", word, other, d)
			}
		}
	})
}
