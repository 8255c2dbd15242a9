package rpc

import "testing"

func TestParse(t *testing.T) {
	if f, err := Parse([]byte(`{"id":1}`)); err != nil || !f.HasID() || string(f.Raw) != `{"id":1}` {
		t.Errorf("%+v %v", f, err)
	}
	if f, err := Parse([]byte("nonsense")); err == nil || string(f.Raw) != "nonsense" {
		t.Errorf("%+v %v", f, err)
	}
}
