package environment

import "testing"

func TestNetwork(t *testing.T) {
	for text, want := range map[string]Network{
		"{connections: 7}":                       {Connections: 7},
		"{bandwidth: 10MB/s}":                    {Bandwidth: 10e6},
		"{bandwidth: 1.5 MiB}":                   {Bandwidth: 3 << 19},
		"{connections: 65535, bandwidth: 1KB/s}": {Connections: 65535, Bandwidth: 1000},
		"{}":                                     {},
	} {
		if got, _ := parsed(t, "agent: none\nnetwork: "+text); got.Network != want {
			t.Errorf("%s: %+v, want %+v", text, got.Network, want)
		}
	}
	for text, want := range map[string]string{
		"{connections: 0}":    `network.connections: wants a number from 1 to 65535, not "0"`,
		"{connections: many}": `network.connections: wants a number from 1 to 65535, not "many"`,
		"{bandwidth: 10}":     `network.bandwidth: wants bytes in a second such as 10MB/s, not "10"; the units are B, KB, MB, GB, KiB, MiB and GiB`,
		"{bandwidth: 10Mbit}": `network.bandwidth: wants bytes in a second such as 10MB/s, not "10Mbit"; the units are B, KB, MB, GB, KiB, MiB and GiB`,
		"{bandwidth: 1B/s}":   `network.bandwidth: 1B/s is out of range; it may be 1KB/s to 100GB/s`,
		"{bandwith: 10MB/s}":  `network.bandwith: unknown key; did you mean bandwidth?`,
		"unrestricted":        `network: wants keys and values such as connections: 100`,
	} {
		if got := faulty(t, "agent: none\nnetwork: "+text); got != "line 2: "+want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
