package environment

// Confidential is a text that is not written anywhere by accident: whoever wants
// it has to say so.
type Confidential struct{ text string }

// Conceal makes a text confidential.
func Conceal(text string) Confidential { return Confidential{text} }

// Reveal gives the text.
func (c Confidential) Reveal() string { return c.text }

const concealed = "[secret]"

// String does not give the text.
func (Confidential) String() string { return concealed }

// GoString does not give the text.
func (Confidential) GoString() string { return concealed }

// MarshalText does not give the text.
func (Confidential) MarshalText() ([]byte, error) { return []byte(concealed), nil }

// Equal compares the texts.
func (c Confidential) Equal(other Confidential) bool { return c == other }
