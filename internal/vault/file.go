package vault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
)

// keyFile is the document in the key's file: two keysets of Tink, in clear.
type keyFile struct {
	Seal json.RawMessage `json:"seal"`
	Mark json.RawMessage `json:"mark"`
}

// Open reads the key of this file. The error is fs.ErrNotExist where there is
// none. What others may read is no key.
func Open(file string) (*Vault, error) {
	at, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("find the key of secrets: %w", err)
	}
	if at.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s, the key of secrets, can be read by others than its owner; make that: chmod 600 %s", file, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the key of secrets: %w", err)
	}
	v, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s is no key of secrets (%w); put the file back that was there", file, err)
	}
	return v, nil
}

func decode(text []byte) (*Vault, error) {
	var keys keyFile
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, err
	}
	seal, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(keys.Seal)))
	if err != nil {
		return nil, err
	}
	mark, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(keys.Mark)))
	if err != nil {
		return nil, err
	}
	return newVault(seal, mark)
}

// Create makes a new key and writes it, whole or not at all and never over one
// that is there. It is on the disk when Create returns.
func Create(file string) (*Vault, error) {
	seal, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("make a sealing key: %w", err)
	}
	mark, err := keyset.NewHandle(prf.HMACSHA256PRFKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("make a marking key: %w", err)
	}
	text, err := encode(seal, mark)
	if err == nil {
		err = write(file, text)
	}
	if err != nil {
		return nil, fmt.Errorf("write the key of secrets: %w", err)
	}
	return newVault(seal, mark)
}

func encode(seal, mark *keyset.Handle) ([]byte, error) {
	var keys keyFile
	for handle, into := range map[*keyset.Handle]*json.RawMessage{seal: &keys.Seal, mark: &keys.Mark} {
		var text bytes.Buffer
		if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&text)); err != nil {
			return nil, err
		}
		*into = text.Bytes()
	}
	return json.MarshalIndent(keys, "", "  ")
}

func write(file string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".key-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), file)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(file))
	}
	return err
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
