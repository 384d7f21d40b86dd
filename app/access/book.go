// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"mirrord/internal/webhook"
	"mirrord/store/shared"
)

// Facts are the tokens and users that a Book reads. shared.ConsoleFacts has them. The methods may be called
// from several goroutines.
type Facts interface {
	Tokens() (map[string]shared.TokenFact, error)
	Users() (map[string]shared.UserFact, error)
}

// bookFor is how long a Book trusts what it has read. For what it does not find it reads again at once, so
// that a new token works at once; but only so often, because anybody may make it look.
const (
	bookFor    = time.Second
	againEvery = 50 * time.Millisecond
	againBurst = 20
)

// Book knows tokens and users. It is safe for concurrent use.
type Book struct {
	facts   Facts
	now     func() time.Time
	again   *Limit
	nobodys []byte // stands for the key of a job without one

	mu     sync.Mutex
	read   time.Time // when what follows was read; zero: never
	tokens map[string]Token
	hooks  map[string][]shared.TokenFact // by job
	users  map[string]shared.UserFact
}

// Token is a token of the API.
type Token struct {
	Name    string
	Role    Role
	expires time.Time
}

// NewBook returns a Book of facts. Nothing is read yet.
func NewBook(facts Facts, now func() time.Time) *Book {
	return &Book{
		facts:   facts,
		now:     now,
		again:   NewLimit(againEvery, againBurst),
		nobodys: random(32),
	}
}

// find calls look on the facts in memory and, when it finds nothing, once more on freshly read facts.
func (b *Book) find(look func() bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	age := now.Sub(b.read)
	old := b.read.IsZero() || age < 0 || age >= bookFor
	if old {
		if err := b.load(now); err != nil {
			return err
		}
	}
	if look() || old || !b.again.Allow("", now) {
		return nil
	}
	if err := b.load(now); err != nil {
		return err
	}
	look()
	return nil
}

// Forget makes the next call read the stored facts again, because they were changed.
func (b *Book) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = time.Time{}
}

// load reads the facts. The caller holds the lock.
func (b *Book) load(now time.Time) error {
	tokens, err := b.facts.Tokens()
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	users, err := b.facts.Users()
	if err != nil {
		return fmt.Errorf("users: %w", err)
	}
	b.users = users
	b.read, b.tokens, b.hooks = now, map[string]Token{}, map[string][]shared.TokenFact{}
	for name, f := range tokens {
		switch {
		case f.Hook != "":
			b.hooks[f.Hook] = append(b.hooks[f.Hook], f)
		case f.Digest != "":
			b.tokens[f.Digest] = Token{Name: name, Role: RoleOf(f.Role), expires: f.Expires}
		}
	}
	return nil
}

func ended(expires, now time.Time) bool { return !expires.IsZero() && !now.Before(expires) }

// Token returns the token with a secret; ok is false when there is no such token, or it has expired.
func (b *Book) Token(secret string) (t Token, ok bool, err error) {
	digest := Digest(secret)
	err = b.find(func() bool {
		t, ok = b.tokens[digest]
		ok = ok && t.Role > Anonymous && !ended(t.expires, b.now())
		return ok
	})
	if !ok {
		t = Token{}
	}
	return t, ok, err
}

// CheckCall returns nil for a call that is signed with a key of a job. It takes as long for a job without
// keys, or one that does not exist.
func (b *Book) CheckCall(job string, s webhook.Signed) error {
	var bad error
	err := b.find(func() bool {
		now := b.now()
		keys := [][]byte{}
		for _, f := range b.hooks[job] {
			if !ended(f.Expires, now) {
				keys = append(keys, f.Key)
			}
		}
		if len(keys) == 0 {
			keys = append(keys, b.nobodys)
		}
		bad = webhook.Verify(keys, s, now)
		return !errors.Is(bad, webhook.ErrSignature)
	})
	if err != nil {
		return err
	}
	return bad
}

// User returns the user of a name, who may be a second old, when he fits.
func (b *Book) User(name string, fits func(shared.UserFact) bool) (u shared.UserFact, ok bool, err error) {
	err = b.find(func() bool {
		u, ok = b.users[name]
		ok = ok && fits(u)
		return ok
	})
	return u, ok, err
}

// UserNow returns the stored user of a name; the zero value when there is no such user.
func (b *Book) UserNow(name string) (shared.UserFact, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.load(b.now())
	return b.users[name], err
}

// HasUsers reports whether anybody logs in with a password.
func (b *Book) HasUsers() (has bool, err error) {
	err = b.find(func() bool {
		has = len(b.users) > 0
		return has
	})
	return has, err
}

// Users are all users with passwords as they stand now, by name.
func (b *Book) Users() (map[string]shared.UserFact, error) { return b.facts.Users() }
