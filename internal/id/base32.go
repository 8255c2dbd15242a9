package id

import (
	"errors"
	"fmt"
	"strings"
)

// alphabet is Crockford's base 32 in lower case, without i, l, o and u.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// textLen is the length of 128 bits in base 32, two leading zero bits included.
const textLen = 26

var errOverflow = errors.New("more than 128 bits")

// encode writes 16 bytes as 26 characters, most significant bits first.
func encode(raw [16]byte) string {
	var out [textLen]byte
	var acc uint32
	bits, o := 2, 0 // two zero bits make 130 = 26 × 5
	for _, b := range raw {
		acc = acc<<8 | uint32(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out[o] = alphabet[acc>>bits&31]
			o++
		}
	}
	return string(out[:])
}

// decode reads what encode wrote.
func decode(text string) (raw [16]byte, err error) {
	if len(text) != textLen {
		return raw, fmt.Errorf("want %d characters, have %d", textLen, len(text))
	}
	if text[0] > '7' {
		return raw, errOverflow
	}
	var acc uint32
	bits, o := -2, 0
	for i := range len(text) {
		v := values[text[i]]
		if v < 0 {
			return raw, fmt.Errorf("character %q", text[i])
		}
		acc = acc<<5 | uint32(v)
		bits += 5
		if bits >= 8 {
			bits -= 8
			raw[o] = byte(acc >> bits)
			o++
		}
	}
	return raw, nil
}

// values are the digits of the characters, -1 for those that are none.
var values = func() (of [256]int8) {
	for c := range of {
		of[c] = int8(strings.IndexByte(alphabet, byte(c)))
	}
	return of
}()
