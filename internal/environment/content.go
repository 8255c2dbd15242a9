package environment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// SchemaVersion is the version of the form of specs.
const SchemaVersion = "1"

// ContentHash is the SHA-256 of what a spec means, in hexadecimal: the same for
// texts that differ in order, spelling or comments only. The name of the session
// is no part of it, nor are the values of secrets.
func (s Spec) ContentHash() (string, error) {
	s.Name = ""
	text, err := json.Marshal(s) // keys of maps are sorted
	if err != nil {
		return "", fmt.Errorf("digest spec: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Document is the spec that the environment was made from, as it was written.
func (e Environment) Document() (map[string]any, error) {
	document := map[string]any{} // a spec may be empty
	if err := yaml.Unmarshal([]byte(e.Source), &document); err != nil {
		return nil, fmt.Errorf("read environment %s: %w", e.ID, err)
	}
	return document, nil
}
