package sandbox

import (
	"fmt"
	"log/slog"
)

// Brokered is a secret that never comes into the machine. Programs there hold
// the placeholder; the machine's network puts the value in its place in HTTP
// requests, over TLS or not, that go to the host. Values are kept in memory alone:
// they are in no handle, no file and no argument, and who takes up a machine
// again gives them again.
type Brokered struct {
	// Name is what people call it, for messages.
	Name string
	// Host is the name in lower case to which the value may go, on any port.
	Host string
	// Header is the one request header in which the placeholder is replaced;
	// empty: in every header, and in the query.
	Header string
	// Placeholder stands for the value inside: letters, digits, - and _ alone, at
	// least 16 of them, and of no other secret. Where it is as long as the value,
	// answers that quote the value keep their length.
	Placeholder string
	// Value is the secret itself. In answers of the host it is replaced by the
	// placeholder, if it has at least 6 bytes.
	Value string
}

// String is part of fmt.Stringer: without the value.
func (b Brokered) String() string { return fmt.Sprintf("%s for %s", b.Name, b.Host) }

// GoString is part of fmt.GoStringer: without the value.
func (b Brokered) GoString() string { return b.String() }

// LogValue is part of slog.LogValuer: without the value.
func (b Brokered) LogValue() slog.Value { return slog.StringValue(b.String()) }

// MarshalJSON is part of json.Marshaler. It fails: nothing may write a value.
func (Brokered) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("a brokered secret is not to be written")
}
