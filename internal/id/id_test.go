package id

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// Vectors of the TypeID specification (valid.yml): suffix and UUID.
func TestBase32Vectors(t *testing.T) {
	for _, v := range []struct{ text, uuid string }{
		{"00000000000000000000000000", "00000000-0000-0000-0000-000000000000"},
		{"00000000000000000000000001", "00000000-0000-0000-0000-000000000001"},
		{"0000000000000000000000000a", "00000000-0000-0000-0000-00000000000a"},
		{"0000000000000000000000000g", "00000000-0000-0000-0000-000000000010"},
		{"00000000000000000000000010", "00000000-0000-0000-0000-000000000020"},
		{"7zzzzzzzzzzzzzzzzzzzzzzzzz", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
		{"0123456789abcdefghjkmnpqrs", "0110c853-1d09-52d8-d73e-1194e95b5f19"},
		{"01h455vb4pex5vsknk084sn02q", "01890a5d-ac96-774b-bcce-b302099a8057"},
	} {
		u := uuid.MustParse(v.uuid)
		if got := encode(u); got != v.text {
			t.Errorf("encode %s = %s, want %s", v.uuid, got, v.text)
		}
		if got, err := decode(v.text); err != nil || uuid.UUID(got) != u {
			t.Errorf("decode %s = %v, %v", v.text, uuid.UUID(got), err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"", "sess", "sess_", "run_01h455vb4pex5vsknk084sn02q", "sess_8zzzzzzzzzzzzzzzzzzzzzzzzz",
		"sess_01h455vb4pex5vsknk084sn02", "sess_01h455vb4pex5vsknk084sn02u", "SESS_01h455vb4pex5vsknk084sn02q", "sess_01H455VB4PEX5VSKNK084SN02Q"} {
		if got, err := Parse[Session](s); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", s, got)
		}
	}
	want := New[Session]()
	if got, err := Parse[Session](want.String()); err != nil || got != want {
		t.Errorf("Parse(%v) = %v, %v", want, got, err)
	}
}

func TestEventIDsSortLikeTheirPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 1<<47).Draw(t, "ms")
		seq := rapid.Int64Range(1, 1<<43).Draw(t, "seq")
		tailA, tailB := rapid.Uint32().Draw(t, "tail"), rapid.Uint32().Draw(t, "next tail")
		a := NewEvent(time.UnixMilli(ms), seq, tailA)
		b := NewEvent(time.UnixMilli(ms+rapid.Int64Range(0, 3).Draw(t, "later")), seq+1, tailB)
		if a.String() >= b.String() {
			t.Fatalf("%v does not sort before %v", a, b)
		}
		if EventSeq(a) != seq || EventSeq(b) != seq+1 {
			t.Fatalf("seq %d, %d read as %d, %d", seq, seq+1, EventSeq(a), EventSeq(b))
		}
		if EventTail(a) != tailA&EventTailMask || EventTail(b) != tailB&EventTailMask {
			t.Fatalf("tail %d, %d read as %d, %d", tailA, tailB, EventTail(a), EventTail(b))
		}
		if _, err := Parse[Event](a.String()); err != nil {
			t.Fatal(err)
		}
	})
}
