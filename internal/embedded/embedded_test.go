package embedded

import (
	"bytes"
	"debug/elf"
	"strings"
	"testing"
)

func TestProgramsAreStaticExecutables(t *testing.T) {
	for name, get := range map[string]func() ([]byte, error){"guest": Guest, "demo agent": DemoAgent} {
		b, err := get()
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s needs a dynamic loader; a sandbox may have none", name)
			}
		}
	}
}

func TestAbsentProgramSaysWhatToRun(t *testing.T) {
	_, err := program("no-such-program")
	if err == nil || !strings.Contains(err.Error(), "make generate") {
		t.Fatalf("got %v", err)
	}
}
