// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The cost of a hash, as RFC 9106 §4 recommends where memory is short.
const (
	hashTime   = 3
	hashMemory = 64 << 10 // KiB
	hashLanes  = 4
	hashSalt   = 16 // bytes
	hashSize   = 32 // bytes
)

// InitialFor is how long a password made for a user works; before that the user chooses another.
const InitialFor = 7 * 24 * time.Hour

// Bounds of a password.
const (
	leastPassword = 12  // characters
	mostPassword  = 500 // bytes
)

// CheckPassword returns why a text is no password for a user.
func CheckPassword(user, password string) error {
	same := strings.Trim(password, password[:min(1, len(password))]) == ""
	switch {
	case utf8.RuneCountInString(password) < leastPassword:
		return fmt.Errorf("a password has at least %d characters", leastPassword)
	case len(password) > mostPassword:
		return fmt.Errorf("a password has at most %d bytes", mostPassword)
	case same, strings.Contains(strings.ToLower(password), strings.ToLower(user)) && len(user) > 2:
		return errors.New("a password is not one character many times, and has not the name of the user in it")
	}
	return nil
}

// NewPassword makes a password of 100 random bits.
func NewPassword() string {
	text := strings.ToLower(base32.StdEncoding.EncodeToString(random(15))[:20])
	return text[:5] + "-" + text[5:10] + "-" + text[10:15] + "-" + text[15:]
}

// Hasher makes and checks hashes of passwords. Only some are made at a time, because each takes 64 MB.
// The zero value is not usable: NewHasher makes one. It is safe for concurrent use.
type Hasher struct {
	slots  chan struct{} // of the size of how many hashes are made at a time
	memory uint32
	noUser string // a hash that no password has
}

// hashesAtOnce is how many hashes a Hasher makes at a time.
const hashesAtOnce = 2

// NewHasher returns a Hasher; memory is in KiB, and 0 is the recommended amount.
func NewHasher(memory uint32) *Hasher {
	if memory == 0 {
		memory = hashMemory
	}
	h := &Hasher{slots: make(chan struct{}, hashesAtOnce), memory: memory}
	h.noUser = encodeHash(h.memory, random(hashSalt), random(hashSize))
	return h
}

// Hash returns the hash of a password that is stored.
func (h *Hasher) Hash(password string) string {
	h.slots <- struct{}{}
	defer func() { <-h.slots }()
	salt := random(hashSalt)
	return encodeHash(h.memory, salt,
		argon2.IDKey([]byte(password), salt, hashTime, h.memory, hashLanes, hashSize))
}

func encodeHash(memory uint32, salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, hashTime, hashLanes,
		b64.EncodeToString(salt), b64.EncodeToString(sum))
}

// Fits reports whether a password has a hash. An empty hash, which stands for a user that there is not, takes
// as long and fits none.
func (h *Hasher) Fits(hash, password string) bool {
	known := hash != ""
	if !known {
		hash = h.noUser
	}
	d, err := decodeHash(hash)
	if err != nil || len(password) > mostPassword {
		return false
	}
	h.slots <- struct{}{}
	defer func() { <-h.slots }()
	got := argon2.IDKey([]byte(password), d.salt, d.passes, d.memory, d.lanes, uint32(len(d.sum)))
	return subtle.ConstantTimeCompare(got, d.sum) == 1 && known
}

// decodedHash is a hash with what it was made with.
type decodedHash struct {
	salt, sum      []byte
	memory, passes uint32
	lanes          uint8
}

var errHash = errors.New("no argon2id hash of a password")

func decodeHash(hash string) (d decodedHash, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return d, errHash
	}
	version := 0
	_, verr := fmt.Sscanf(parts[2], "v=%d", &version)
	_, perr := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &d.memory, &d.passes, &d.lanes)
	var serr, herr error
	d.salt, serr = base64.RawStdEncoding.DecodeString(parts[4])
	d.sum, herr = base64.RawStdEncoding.DecodeString(parts[5])
	if errors.Join(verr, perr, serr, herr) != nil || version != argon2.Version {
		return d, errHash
	}
	const mostMemory, mostPasses = 1 << 20, 100
	sound := len(d.salt) >= 8 && len(d.sum) >= 16 && d.memory <= mostMemory
	if !sound || d.passes < 1 || d.passes > mostPasses || d.lanes < 1 {
		return d, errHash
	}
	return d, nil
}
