// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"mirrord/internal/webhook"
	"mirrord/store/shared"
)

// TokenPrefix begins each token of the API, so that people and scanners for leaked secrets know it.
const TokenPrefix = "mirrord_"

// random returns n random bytes.
func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

// NewSecret returns 256 random bits.
func NewSecret() string { return hex.EncodeToString(random(32)) }

// Digest is the digest of a secret of 256 random bits that is stored.
func Digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// NewToken makes a token of the API. The secret is shown once; the fact does not have it.
func NewToken(role Role, now, expires time.Time) (secret string, f shared.TokenFact) {
	secret = TokenPrefix + NewSecret()
	return secret, shared.TokenFact{
		Role:    role.String(),
		Digest:  Digest(secret),
		Created: now,
		Expires: expires,
	}
}

// NewHookKey makes a key that signs the calls of a job's webhook.
func NewHookKey(job string, now, expires time.Time) (secret string, f shared.TokenFact) {
	key := random(32)
	return webhook.KeyPrefix + base64.StdEncoding.EncodeToString(key), shared.TokenFact{
		Hook:    job,
		Key:     key,
		Created: now,
		Expires: expires,
	}
}

// mostName is how many bytes the name of a token or a user may have.
const mostName = 100

// CheckName returns why a name is not valid for a token or a user.
func CheckName(name string) error {
	const rest = "-_.@+"
	bad := func(r rune) bool {
		letter := (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9')
		return !letter && !strings.ContainsRune(rest, r)
	}
	if name == "" || len(name) > mostName || strings.ContainsFunc(name, bad) || strings.HasPrefix(name, "-") {
		return fmt.Errorf("%q cannot be a name: want letters, digits and %s, at most %d", name, rest, mostName)
	}
	return nil
}
