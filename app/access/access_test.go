// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mirrord/store/shared"
)

// Callers beyond the keys that a Limit holds share one allowance, and unused keys are forgotten.
func TestLimitIsBounded(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	l := NewLimit(time.Second, 2)
	for i := range mostKeys {
		l.Allow(fmt.Sprint(i), now)
	}
	passed := 0
	for i := range 100 {
		if l.Allow(fmt.Sprint("more ", i), now) {
			passed++
		}
	}
	if passed != 2 || len(l.keys) != mostKeys {
		t.Errorf("%d passed, %d keys", passed, len(l.keys))
	}
	now = now.Add(time.Minute)
	if !l.Allow("again", now) || len(l.keys) != 1 {
		t.Errorf("%d keys", len(l.keys))
	}
}

func TestClient(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80":              "192.0.2.1",
		"[::ffff:192.0.2.1]:80":     "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::]:1":   "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":         "fe80::/64",
		"@":                         "@", // a socket
	} {
		if got := Client(remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]bool{
		"ann": true, "Ann.B-2_x@mirrors.example": true, "a+b": true, "": false, "-x": false, "a b": false,
		"a\nb": false, "ä": false, "a/b": false, strings.Repeat("x", mostName+1): false,
	} {
		if err := CheckName(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// countedFacts counts how often they are read.
type countedFacts struct {
	tokens map[string]shared.TokenFact
	reads  int
}

func (f *countedFacts) Tokens() (map[string]shared.TokenFact, error) {
	f.reads++
	return f.tokens, nil
}

func (f *countedFacts) Users() (map[string]shared.UserFact, error) { return nil, nil }

// A Book finds a new token at once, a removed one is gone after a second, and a flood of wrong ones does not
// make it read for each.
func TestBook(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	facts := &countedFacts{tokens: map[string]shared.TokenFact{}}
	b := NewBook(facts, func() time.Time { return now })
	known := func(secret string) bool {
		t.Helper()
		_, ok, err := b.Token(secret)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	secret, fact := NewToken(Read, now, now.Add(time.Hour))
	if known(secret) {
		t.Error("it was not made yet")
	}
	facts.tokens["a"] = fact
	first, again := known(secret), known(secret)
	if !first || !again || facts.reads != 2 {
		t.Errorf("%d reads", facts.reads)
	}
	for range 10_000 {
		known("wrong")
	}
	if facts.reads > 2+againBurst {
		t.Errorf("%d reads", facts.reads)
	}
	delete(facts.tokens, "a")
	if now = now.Add(bookFor); known(secret) {
		t.Error("a removed token works")
	}
	facts.tokens["a"] = shared.TokenFact{Role: "king", Digest: fact.Digest}
	if now = now.Add(bookFor); known(secret) {
		t.Error("a role that does not exist works")
	}
}
