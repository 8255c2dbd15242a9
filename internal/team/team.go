// Package team holds the tenant: who owns sessions, environments and tokens.
package team

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"paddock/internal/id"
)

// DefaultName is the team that a new installation makes.
const DefaultName = "default"

// Team is a tenant.
type Team struct {
	ID        id.Team
	Name      string
	CreatedAt time.Time
}

// Token lets its bearer act for one team. Only the hash is kept.
type Token struct {
	ID        id.Token
	Team      id.Team
	Name      string // for people: where it came from
	Hash      string // HashToken of the secret text
	CreatedAt time.Time
}

// HashToken is how a token's text is kept and looked up: SHA-256 in hex. The
// texts we make hold 256 random bits, so a slow hash would add nothing.
func HashToken(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
