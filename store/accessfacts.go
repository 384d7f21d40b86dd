// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// Kinds of the stored access facts.
const (
	kindTokens = "tokens" // name -> TokenFact as JSON
	kindHooks  = "hooked" // job -> HookFact as JSON
	kindUsers  = "users"  // name -> UserFact as JSON
)

// CommonKinds are the kinds of Shared that nodes of a cluster have in common: users, tokens, sessions of the
// console and pauses of jobs. A session comes after its user.
func CommonKinds() []string { return []string{kindUsers, kindTokens, kindSessions, kindPauses} }

// TokenFact is what a program shows instead of logging in: either a token of the API, which is known by its
// digest only, or a key with which the calls of a webhook are signed, which is needed to check them.
type TokenFact struct {
	Role    string    `json:"role,omitempty"`   // of a token of the API
	Digest  string    `json:"digest,omitempty"` // its SHA-256
	Hook    string    `json:"hook,omitempty"`   // the job that signed calls start
	Key     []byte    `json:"key,omitempty"`    // that signs them
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// ChangeToken replaces the token of a name by what change returns; nil stands for none. An error of change
// leaves all as it was.
func (f ConsoleFacts) ChangeToken(name string, change func(*TokenFact) (*TokenFact, error)) error {
	return changeFact(SharedOf(f.st), kindTokens, name, change)
}

// Tokens returns all tokens by name. One that cannot be read is left out.
func (f ConsoleFacts) Tokens() (map[string]TokenFact, error) {
	return factsOf[TokenFact](SharedOf(f.st), kindTokens)
}

// HookFact is the stored state of the signed calls for a job.
type HookFact struct {
	First time.Time            `json:"first,omitzero"` // of the calls that no run was started for yet
	Last  time.Time            `json:"last,omitzero"`  // of them; zero: nothing waits
	Seen  map[string]time.Time `json:"seen,omitempty"` // by the identifiers of calls, which count once
}

// ChangeHook changes the HookFact of a job, as ChangeToken does.
func (f ConsoleFacts) ChangeHook(job string, change func(*HookFact) (*HookFact, error)) error {
	return changeFact(SharedOf(f.st), kindHooks, job, change)
}

// Hooks returns the stored HookFacts by job, without those that cannot be read.
func (f ConsoleFacts) Hooks() (map[string]HookFact, error) {
	return factsOf[HookFact](SharedOf(f.st), kindHooks)
}

// UserFact is a user who logs in with a password.
type UserFact struct {
	Role    string    `json:"role"`
	Hash    string    `json:"hash"`            // argon2id, as access.HashPassword writes it
	Initial bool      `json:"first,omitempty"` // only for choosing another one: another person knows it
	Changed time.Time `json:"changed"`         // when the password was set
}

// ChangeUser replaces the user of a name, as ChangeToken does.
func (f ConsoleFacts) ChangeUser(name string, change func(*UserFact) (*UserFact, error)) error {
	return changeFact(SharedOf(f.st), kindUsers, name, change)
}

// Users returns all users by name. One that cannot be read is left out.
func (f ConsoleFacts) Users() (map[string]UserFact, error) {
	return factsOf[UserFact](SharedOf(f.st), kindUsers)
}
