package sqlstore

import (
	"database/sql"
	"encoding"
	"encoding/json"
	"fmt"
	"time"
)

// The functions below turn fields into column values and back, each pair in one
// place: what is stored is an explicit text or a number with its unit.

// moment stores a time in microseconds; the zero time is NULL.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// created stores a time that every row has.
func created(t time.Time) int64 { return t.UnixMicro() }

// momentInto reads what moment and created stored, in UTC.
func momentInto(t *time.Time) sql.Scanner {
	return scanner(func(value any) error {
		switch v := value.(type) {
		case nil:
			*t = time.Time{}
		case int64:
			*t = time.UnixMicro(v).UTC()
		default:
			return fmt.Errorf("a moment is stored as %T", value)
		}
		return nil
	})
}

// millisInto reads a duration stored with Milliseconds.
func millisInto(d *time.Duration) sql.Scanner {
	return scanner(func(value any) error {
		v, ok := value.(int64)
		if !ok {
			return fmt.Errorf("a duration is stored as %T", value)
		}
		*d = time.Duration(v) * time.Millisecond
		return nil
	})
}

// ref stores an id; the zero id is NULL.
func ref(i interface {
	IsZero() bool
	String() string
}) any {
	if i.IsZero() {
		return nil
	}
	return i.String()
}

// idInto reads what ref stored.
func idInto(i encoding.TextUnmarshaler) sql.Scanner {
	return scanner(func(value any) error {
		switch v := value.(type) {
		case nil:
			return i.UnmarshalText(nil)
		case string:
			return i.UnmarshalText([]byte(v))
		case []byte:
			return i.UnmarshalText(v)
		default:
			return fmt.Errorf("an id is stored as %T", value)
		}
	})
}

// blob stores bytes; nil is NULL.
func blob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// document stores a value as JSON.
func document(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b, nil
}

// documentInto reads what document stored.
func documentInto(v any) sql.Scanner {
	return scanner(func(value any) error {
		b, ok := value.([]byte)
		if !ok {
			return fmt.Errorf("a document is stored as %T", value)
		}
		return json.Unmarshal(b, v)
	})
}

// scanner is a function that takes a column's value.
type scanner func(value any) error

// Scan implements sql.Scanner.
func (s scanner) Scan(value any) error { return s(value) }
