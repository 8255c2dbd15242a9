package environment

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecrets(t *testing.T) {
	key := strings.Repeat("line of a key\n", 3)
	for _, tc := range []struct {
		name, text string
		want       []Secret
		warnings   []string
	}{
		{name: "by name", text: "agent: demo\nsecrets:\n  B: value-b\n  A: 12345678\n  KEY: |\n    line of a key\n    line of a key\n    line of a key\n", want: []Secret{
			{Name: "A", Value: Conceal("12345678")}, {Name: "B", Value: Conceal("value-b")}, {Name: "KEY", Value: Conceal(key)},
		}},
		{name: "for a host", text: "agent: demo\nsecrets:\n  A: {value: value-a, host: API.example.com., header: x-api-key}\n", want: []Secret{
			{Name: "A", Value: Conceal("value-a"), Host: "api.example.com", Header: "X-Api-Key"},
		}},
		{name: "a list", text: `{"agent": "demo", "secrets": [{"value": "value-a", "name": "A"}, {"name": "B", "source": "tenantSecret", "value": "value-b", "host": "example.com"}]}`, want: []Secret{
			{Name: "A", Value: Conceal("value-a")}, {Name: "B", Value: Conceal("value-b"), Host: "example.com"},
		}},
		{name: "none", text: "agent: demo\nsecrets: {}"},
		{name: "outside of egress", text: "agent: demo\nsecrets:\n  A: {value: value-a, host: a.example.com}\n  B: {value: value-b, host: b.example.org}\n  C: value-c\negress: ['*.example.com', b.example.org.]",
			want: []Secret{{Name: "A", Value: Conceal("value-a"), Host: "a.example.com"}, {Name: "B", Value: Conceal("value-b"), Host: "b.example.org"}, {Name: "C", Value: Conceal("value-c")}}},
		{name: "outside of no egress", text: "agent: demo\nsecrets:\n  A: {value: value-a, host: example.com}\negress: ['*.example.com']",
			want:     []Secret{{Name: "A", Value: Conceal("value-a"), Host: "example.com"}},
			warnings: []string{"line 3: secrets.A: egress does not list example.com; connections to it are allowed, since a secret is for it"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, warnings, err := Parse([]byte(tc.text), anyName)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, w := range warnings {
				lines = append(lines, w.String())
			}
			if diff := cmp.Diff(tc.want, got.Secrets) + cmp.Diff(tc.warnings, lines); diff != "" {
				t.Error(diff)
			}
			checkMarshal(t, got)
			checkHidden(t, tc.text, got)
		})
	}
}

// checkHidden checks that no value of a spec's secrets is where a spec is stored,
// shown or logged.
func checkHidden(t *testing.T, text string, s Spec) {
	t.Helper()
	source, err := Redact([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	document, err := Environment{Source: source}.Document()
	if err != nil {
		t.Fatal(err)
	}
	asJSON, _ := json.Marshal(s)
	for _, secret := range s.Secrets {
		for where, seen := range map[string]string{
			"source": source, "document": fmt.Sprint(document), "JSON": string(asJSON), "%v": fmt.Sprintf("%v %+v %#v %s", s, s, s, s.Secrets),
		} {
			if strings.Contains(seen, strings.TrimSpace(secret.Value.Reveal())) {
				t.Errorf("%s shows %s: %s", where, secret.Name, seen)
			}
		}
		if !strings.Contains(source, "[redacted "+secret.Name+"]") {
			t.Errorf("source does not say that there is %s: %s", secret.Name, source)
		}
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"agent: demo # as it is\nenv: {A: b}\n": "agent: demo # as it is\nenv: {A: b}\n",
		"# first\nagent: demo # s3cret!\nsecrets: # s3cret!\n  # s3cret!\n  A: s3cret! # s3cret!\n  B: {value: s3cret!, host: a.example}\n": "" +
			"agent: demo\nsecrets:\n    A: '[redacted A]'\n    B: {value: '[redacted B]', host: a.example}\n",
		"agent: demo\nsecrets:\n- {name: A, value: 0x123456}\n": "agent: demo\nsecrets:\n    - {name: A, value: '[redacted A]'}\n",
	} {
		if got, err := Redact([]byte(text)); err != nil || got != want {
			t.Errorf("%q\nwant %q: %v", got, want, err)
		}
	}
}

func TestFaultsOfSecrets(t *testing.T) {
	const name = "a secret is a variable, whose name has letters, digits and _ and does not begin with a digit"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"kind", "secrets: s3cret!", []string{"line 2: secrets: wants keys and values such as API_TOKEN: its value"}},
		{"names", "secrets:\n  s3cret!: x\n  PADDOCK_A: s3cret!\n  ? [a]\n  : s3cret!", []string{
			"line 3: secrets: " + name, "line 4: secrets: names that begin with PADDOCK_ are reserved", "line 5: secrets: a key must be a plain word"}},
		{"names of a list", "secrets:\n- {value: s3cret!}\n- {name: a-b, value: s3cret!}\n- text\n- {name: A, value: s3cret!}\n- {name: A, value: s3cret!}", []string{
			"line 3: secrets[0].name: is missing; write the name of the variable, such as API_TOKEN",
			"line 4: secrets[1].name: " + name, "line 5: secrets[2]: wants keys and values such as name: API_TOKEN", "line 7: secrets[4].name: A stands here twice"}},
		{"values", "secrets:\n  A: ''\n  B: \n  C: short\n  D: \"s3cret!\\u0007\"\n  E: [s3cret!]\n  F: {host: a.example}\n  G: '[redacted G]'\n  H: \"s3cret!\\0\"", []string{
			"line 3: secrets.A: is empty; write the value, or leave the secret out", "line 4: secrets.B: wants a text",
			"line 5: secrets.C: has 5 bytes, and fewer than 6 cannot be kept out of the history; make it longer, or write it under env",
			"line 6: secrets.D: has a control character, which no variable should", "line 7: secrets.E: wants a text",
			"line 8: secrets.F.value: is missing; a secret has a value", "line 9: secrets.G: is what a server shows in place of a value; write the value",
			"line 10: secrets.H: must not contain a NUL character"}},
		{"hosts", "secrets:\n  A: {value: s3cret!, host: 'https://a.example'}\n  B: {value: s3cret!, host: 'a.example:443'}\n  C: {value: s3cret!, host: '*.a.example'}\n  D: {value: s3cret!, host: 10.0.0.1}\n  E: {value: s3cret!, host: a..b}\n  F: {value: s3cret!, hots: a.b}", []string{
			`line 3: secrets.A.host: "https://a.example" is more than a host's name; leave scheme, port and path out`,
			`line 4: secrets.B.host: "a.example:443" is more than a host's name; leave scheme, port and path out`,
			`line 5: secrets.C.host: "*.a.example" is more than one host; a secret is for one, such as api.example.com`,
			`line 6: secrets.D.host: "10.0.0.1" is an address; write the host's name`,
			`line 7: secrets.E.host: "a..b" is no host's name such as example.com`,
			"line 8: secrets.F.hots: unknown key; did you mean host?"}},
		{"headers", "secrets:\n  A: {value: s3cret!, header: X-Key}\n  B: {value: s3cret!, host: a.b, header: 'a b'}\n  C: {value: s3cret!, host: a.b, header: content-length}\n  D: {value: \"s3cret!\\nx\", host: a.b}", []string{
			"line 3: secrets.A.header: goes with host, the one that the value is for",
			`line 4: secrets.B.header: "a b" is no name of a header such as Authorization`,
			"line 5: secrets.C.header: Content-Length says how a request is carried; no secret goes there",
			"line 6: secrets.D: has a line break or a tab in its value, which no header of a request can have"}},
		{"elsewhere too", "secrets: {A: s3cret!}\nenv: {A: x, B: a s3cret! b}\nname: s3cret!", []string{
			"line 2: secrets.A: is set under env too; write it once",
			"line 3: the value of secrets.A stands here too, where it is no secret; write it there alone",
			"line 4: the value of secrets.A stands here too, where it is no secret; write it there alone"}},
		{"long", "secrets:\n  A: " + strings.Repeat("s3cret!", 20_000), []string{"line 3: secrets.A: has 140000 bytes, more than the 131069 that a variable can have"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := Parse([]byte("agent: demo\n"+tc.text), anyName)
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), fmt.Sprint(err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if strings.Contains(fmt.Sprint(err), "s3cret!") {
				t.Error("a fault repeats the value")
			}
		})
	}
}

// The values are no part of what a spec means; where they belong is.
func TestContentHashOfSecrets(t *testing.T) {
	want := hashOf(t, "agent: demo\nsecrets: {A: value-1, B: {value: value-2, host: a.b}}\n")
	for text, same := range map[string]bool{
		"agent: demo\nsecrets: [{name: B, value: value-2, host: a.b}, {name: A, value: value-3}]\n": true,
		"agent: demo\nsecrets: {A: value-1, B: value-2}\n":                                          false,
		"agent: demo\n": false,
	} {
		if (hashOf(t, text) == want) != same {
			t.Errorf("%q: the same is %v", text, !same)
		}
	}
}
