package gvisor

import (
	"slices"
	"testing"

	"paddock/internal/sandbox"
)

func TestIsRunsc(t *testing.T) {
	for _, test := range []struct {
		argv []string
		want bool
	}{
		{[]string{"runsc-sandbox", "boot"}, true},
		{[]string{"runsc-gofer"}, true},
		{[]string{"runsc-exec"}, true},
		{[]string{"runsc[getUsernsFD]"}, true},
		{[]string{"/proc/self/exe", "umount", "--sync-fd=3", "/proc"}, true},
		{[]string{"/usr/bin/runsc", "list"}, true},
		{[]string{"paddock", "runsc", "list"}, true},
		{[]string{"paddock"}, false},
		{[]string{"paddock", "serve", "runsc"}, false},
		{[]string{"/usr/bin/paddock", "exec", "runsc"}, false},
		{nil, false},
	} {
		if have := IsRunsc(test.argv); have != test.want {
			t.Errorf("%q: %v, want %v", test.argv, have, test.want)
		}
	}
}

func TestOnlyOurMachinesAreChanged(t *testing.T) {
	for _, test := range []struct {
		argv []string
		want bool
	}{
		{[]string{"runsc-sandbox", "--root=/r", "boot", "--bundle=/d/sbx_1/bundle", "sbx_1"}, true},
		{[]string{"runsc-gofer", "--root=/r", "gofer", "--bundle=/d/sbx_1/bundle", "sbx_1"}, true},
		{[]string{"runsc-sandbox", "--root=/r", "boot", "--bundle=/home/me/b", "mine"}, false},
		{[]string{"runsc", "run", "--bundle=/d/sbx_1/bundle", "mine"}, false},
	} {
		if have := isOurs(test.argv); have != test.want {
			t.Errorf("%q: %v, want %v", test.argv, have, test.want)
		}
	}
}

func TestDescriptors(t *testing.T) {
	argv := []string{"runsc-sandbox", "--panic-log-fd=3", "boot", "--io-fds=4", "--io-fds=5,6", "--stdio-fds=7", "--pass-fd=8:0", "--cpu-num=2", "id"}
	if have, want := descriptors(argv, ""), []int{3, 4, 5, 6, 7, 8, 0}; !slices.Equal(have, want) {
		t.Errorf("all: %v, want %v", have, want)
	}
	if have, want := descriptors(argv, "stdio-fds"), []int{7}; !slices.Equal(have, want) {
		t.Errorf("stdio: %v, want %v", have, want)
	}
}

func TestBoundFlags(t *testing.T) {
	for _, test := range []struct {
		size sandbox.Size
		host int
		want []string
	}{
		{sandbox.Size{}, 8, nil},
		{sandbox.Size{VCPUs: 4, MemoryMB: 512}, 8, []string{"--total-memory=536870912", "--total-host-memory=536870912", "--cpu-num=4"}},
		{sandbox.Size{VCPUs: 1}, 8, []string{"--cpu-num=2"}},
		{sandbox.Size{VCPUs: 16}, 8, []string{"--cpu-num=8"}},
		{sandbox.Size{VCPUs: 1}, 1, []string{"--cpu-num=1"}},
	} {
		if have := boundFlags(resources(test.size), test.host); !slices.Equal(have, test.want) {
			t.Errorf("%+v on %d CPUs: %q, want %q", test.size, test.host, have, test.want)
		}
	}
}
