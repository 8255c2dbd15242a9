package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"paddock/internal/id"
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

// idInto reads what ref stored, and the empty text as no id.
func idInto[K id.Kind](i *id.ID[K]) sql.Scanner {
	return scanner(func(value any) (err error) {
		*i = id.ID[K]{}
		switch v := value.(type) {
		case nil:
		case string:
			if v != "" {
				*i, err = id.Parse[id.ID[K]](v)
			}
		default:
			err = fmt.Errorf("an id is stored as %T", value)
		}
		return err
	})
}

// numberInto and textInto read what is stored as it is, without the detours that
// database/sql takes for types it does not know.
func numberInto(n *int64) sql.Scanner {
	return scanner(func(value any) error {
		v, ok := value.(int64)
		if !ok {
			return fmt.Errorf("a number is stored as %T", value)
		}
		*n = v
		return nil
	})
}

func textInto[S ~string](s *S) sql.Scanner {
	return scanner(func(value any) error {
		v, ok := value.(string)
		if !ok {
			return fmt.Errorf("a text is stored as %T", value)
		}
		*s = S(v)
		return nil
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
