package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const in = `{"Action":"output","Package":"paddock/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"paddock/a","Test":"TestGood","Output":"chatter\n"}
{"Action":"pass","Package":"paddock/a","Test":"TestGood"}
{"Action":"output","Package":"paddock/a","Test":"TestAway","Output":"    a_test.go:3: needs root\n"}
{"Action":"output","Package":"paddock/a","Test":"TestAway","Output":"--- SKIP: TestAway (0.00s)\n"}
{"Action":"skip","Package":"paddock/a","Test":"TestAway"}
{"Action":"output","Package":"paddock/a","Output":"ok  \tpaddock/a\t0.1s\n"}
{"Action":"pass","Package":"paddock/a"}
{"Action":"output","Package":"paddock/e2e","Output":"SKIP: needs root\n"}
{"Action":"output","Package":"paddock/b","Test":"TestBad","Output":"    b_test.go:9: want 1\n"}
{"Action":"fail","Package":"paddock/b","Test":"TestBad"}
{"Action":"output","Package":"paddock/b","Test":"TestDied","Output":"panic: oh\n"}
{"Action":"fail","Package":"paddock/b"}
`
	var out strings.Builder
	r := report{out: &out, said: map[string][]string{}}
	if err := r.read(strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	r.sums()
	const want = "ok  \tpaddock/a\t0.1s\n" +
		"    b_test.go:9: want 1\n" +
		"panic: oh\n" +
		"skipped: a TestAway: a_test.go:3: needs root\n" +
		"skipped: e2e all: needs root\n" +
		"\n1 passed, 1 failed, 2 skipped\n"
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
	if !r.broken {
		t.Error("a failed package went unnoticed")
	}
}
