package id

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ErrMalformed reports a text that is not an id of the wanted kind.
var ErrMalformed = errors.New("malformed id")

// Kind is implemented by the marker types below; its prefix makes ids of
// different kinds different types and different texts.
type Kind interface{ prefix() string }

// ID is the id of one kind of thing. The zero value is "no id" and prints as
// the empty string.
type ID[K Kind] struct{ text string }

// The kinds of things that have ids.
type (
	sessionKind     struct{}
	runKind         struct{}
	eventKind       struct{}
	environmentKind struct{}
	sandboxKind     struct{}
	approvalKind    struct{}
	teamKind        struct{}
	tokenKind       struct{}
	execKind        struct{}
	checkpointKind  struct{}
	grantKind       struct{}
	noticeKind      struct{}
	templateKind    struct{}
)

func (sessionKind) prefix() string     { return "sess" }
func (runKind) prefix() string         { return "run" }
func (eventKind) prefix() string       { return "evt" }
func (environmentKind) prefix() string { return "env" }
func (sandboxKind) prefix() string     { return "sbx" }
func (approvalKind) prefix() string    { return "hitl" }
func (teamKind) prefix() string        { return "team" }
func (tokenKind) prefix() string       { return "tok" }
func (execKind) prefix() string        { return "exec" }
func (checkpointKind) prefix() string  { return "cp" }
func (grantKind) prefix() string       { return "grant" }
func (noticeKind) prefix() string      { return "msg" }
func (templateKind) prefix() string    { return "tmpl" }

// The typed ids.
type (
	Session     = ID[sessionKind]
	Run         = ID[runKind]
	Event       = ID[eventKind]
	Environment = ID[environmentKind]
	Sandbox     = ID[sandboxKind]
	Approval    = ID[approvalKind]
	Team        = ID[teamKind]
	Token       = ID[tokenKind]
	Exec        = ID[execKind]
	Checkpoint  = ID[checkpointKind]
	Grant       = ID[grantKind]
	Notice      = ID[noticeKind]
	Template    = ID[templateKind]
)

// New makes a fresh id. It panics only when the system has no randomness.
func New[T ID[K], K Kind]() T {
	return T(fromUUID[K](uuid.Must(uuid.NewV7())))
}

// Parse reads an id of kind K; anything else is ErrMalformed.
func Parse[T ID[K], K Kind](text string) (T, error) {
	var k K
	rest, ok := strings.CutPrefix(text, k.prefix()+"_")
	if !ok {
		return T{}, fmt.Errorf("%w: %q does not begin with %s_", ErrMalformed, clip(text), k.prefix())
	}
	if _, err := decode(rest); err != nil {
		return T{}, fmt.Errorf("%w: %q: %v", ErrMalformed, clip(text), err)
	}
	return T(ID[K]{text}), nil
}

// LooksLike says whether the text has the form of any id of this kind, valid or
// not; names may not have it.
func LooksLike[T ID[K], K Kind](text string) bool {
	var k K
	return strings.HasPrefix(strings.ToLower(text), k.prefix()+"_")
}

// String gives the id's text; empty for the zero id.
func (i ID[K]) String() string { return i.text }

// IsZero says whether there is no id.
func (i ID[K]) IsZero() bool { return i.text == "" }

// MarshalText implements encoding.TextMarshaler.
func (i ID[K]) MarshalText() ([]byte, error) { return []byte(i.text), nil }

// UnmarshalText implements encoding.TextUnmarshaler; the empty text is the zero id.
func (i *ID[K]) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*i = ID[K]{}
		return nil
	}
	v, err := Parse[ID[K]](string(b))
	if err == nil {
		*i = v
	}
	return err
}

// NewEvent makes the id of a session's event. Ids of one session sort strictly
// in the order of (at, seq) when neither runs backwards: the 48 bits of
// milliseconds are followed by the 44 low bits of seq, then the 30 low bits of
// tail (a UUIDv7 whose counter is seq, RFC 9562 §6.2).
func NewEvent(at time.Time, seq int64, tail uint32) Event {
	var u uuid.UUID
	ms := uint64(at.UnixMilli())
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], ms<<16)
	copy(u[:6], b[:6])
	s := uint64(seq) & (1<<44 - 1)
	u[6] = 0x70 | byte(s>>40)    // version 7, seq bits 43–40
	u[7] = byte(s >> 32)         // seq bits 39–32
	u[8] = 0x80 | byte(s>>26)&63 // variant, seq bits 31–26
	u[9] = byte(s >> 18)
	u[10] = byte(s >> 10)
	u[11] = byte(s >> 2)
	u[12] = byte(s)<<6 | byte(tail>>24)&63
	u[13], u[14], u[15] = byte(tail>>16), byte(tail>>8), byte(tail)
	return fromUUID[eventKind](u)
}

// EventSeq reads the seq that NewEvent put into an id (its 44 low bits). The
// caller has to check that the event at that seq has this id.
func EventSeq(e Event) int64 {
	raw, err := decode(strings.TrimPrefix(e.text, "evt_"))
	if err != nil {
		return 0
	}
	return int64(raw[6]&15)<<40 | int64(raw[7])<<32 | int64(raw[8]&63)<<26 |
		int64(raw[9])<<18 | int64(raw[10])<<10 | int64(raw[11])<<2 | int64(raw[12])>>6
}

// EventTail reads the tail that NewEvent put into an id (its 30 low bits).
func EventTail(e Event) uint32 {
	raw, err := decode(strings.TrimPrefix(e.text, "evt_"))
	if err != nil {
		return 0
	}
	return binary.BigEndian.Uint32(raw[12:]) & EventTailMask
}

// EventTailMask are the bits of a tail that an id keeps.
const EventTailMask = 1<<30 - 1

func fromUUID[K Kind](u uuid.UUID) ID[K] {
	var k K
	return ID[K]{k.prefix() + "_" + encode(u)}
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
