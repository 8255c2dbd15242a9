// Package vault seals what people keep secret, with the key of this installation.
package vault

import (
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// Vault holds the key. It is safe for concurrent use.
type Vault struct {
	seal tink.AEAD
	mark *prf.Set
}

// newVault makes a vault of its two keys: one seals, one marks.
func newVault(seal, mark *keyset.Handle) (*Vault, error) {
	var v Vault
	var err error
	if v.seal, err = aead.New(seal); err != nil {
		return nil, fmt.Errorf("use sealing key: %w", err)
	}
	if v.mark, err = prf.NewPRFSet(mark); err != nil {
		return nil, fmt.Errorf("use marking key: %w", err)
	}
	return &v, nil
}

// Seal encrypts a text that belongs to a record: only Unseal of the same record,
// with the same key, gives it back.
func (v *Vault) Seal(record string, text []byte) ([]byte, error) {
	sealed, err := v.seal.Encrypt(text, []byte(record))
	if err != nil {
		return nil, fmt.Errorf("seal a secret of %s: %w", record, err)
	}
	return sealed, nil
}

// Unseal gives what was sealed for a record.
func (v *Vault) Unseal(record string, sealed []byte) ([]byte, error) {
	text, err := v.seal.Decrypt(sealed, []byte(record))
	if err != nil {
		return nil, fmt.Errorf("unseal a secret of %s: it was sealed with another key, or is damaged: %w", record, err)
	}
	return text, nil
}

// markSize is the length of a mark in bytes.
const markSize = 32

// Mark is a digest of some texts, in hexadecimal, that says nothing of them to
// whoever has not the key.
func (v *Vault) Mark(texts ...string) string {
	return hex.EncodeToString(v.sum("mark", texts, markSize))
}

// placeholderPrefix makes placeholders recognisable; the rest is as long as no
// text has by accident.
const (
	placeholderPrefix = "paddock-secret-"
	placeholderSize   = 20 // bytes
)

// Placeholder is what a sandbox holds in place of a record's secret: always the
// same one, which says nothing of the secret. It is made of a-z, 2-7 and -, which every
// header, URL and shell takes as it is.
func (v *Vault) Placeholder(record, name string) string {
	sum := v.sum("placeholder", []string{record, name}, placeholderSize)
	return placeholderPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(sum))
}

// sum is the keyed digest of some texts, apart for each use.
func (v *Vault) sum(use string, texts []string, size uint32) []byte {
	whole := use
	for _, text := range texts {
		whole += "\x00" + strconv.Itoa(len(text)) + "\x00" + text
	}
	sum, err := v.mark.ComputePrimaryPRF([]byte(whole), size)
	if err != nil { // of a size that the function cannot have, which is for programmers to see
		panic("vault: compute " + use + ": " + err.Error())
	}
	return sum
}
