// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"mirrord/store/db"
)

// bAudit is the bucket of mirror.db for the audit log: number -> AuditEntry as JSON.
var bAudit = []byte("audit")

// kindSessions is the kind of sessions: digest of a token -> SessionFact as JSON.
const kindSessions = "sessions"

// ConsoleFacts is what the console keeps in mirror.db: the audit log and the sessions. A mirror.db that is
// lost costs both; the daemon's log has the acts too.
type ConsoleFacts struct{ in *Database }

func NewConsoleFacts(in *Database) ConsoleFacts { return ConsoleFacts{in} }

// keptAudit is how many entries of the audit log are kept.
const keptAudit = 10_000

// AuditEntry is one line of the audit log: who did what, from where, and what came of it.
type AuditEntry struct {
	At    time.Time `json:"at"`
	Who   string    `json:"who"`            // a user, token:NAME or webhook
	From  string    `json:"from,omitempty"` // address of the client
	What  string    `json:"what"`
	Job   string    `json:"job,omitempty"`
	About string    `json:"about,omitempty"` // in words
	Error string    `json:"error,omitempty"` // why it was not done
	Node  string    `json:"node,omitempty"`  // of a cluster, on which it was done; not stored
}

// AddAudit appends to the audit log, which forgets the oldest entries.
func (f ConsoleFacts) AddAudit(e AuditEntry) error {
	v, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return f.in.update("write audit log", func(tx *db.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bAudit)
		if err != nil {
			return err
		}
		return appendFact(b, v, keptAudit)
	})
}

// Audit returns the last n entries of the audit log, newest first. One that cannot be read is left out.
func (f ConsoleFacts) Audit(n int) (out []AuditEntry, err error) {
	err = f.in.view(func(tx *db.Tx) error {
		out = lastFacts[AuditEntry](tx.Bucket(bAudit), n)
		return nil
	})
	return out, err
}

// SessionFact is a login that lasts: of whom, with which rights, until when.
type SessionFact struct {
	User    string    `json:"user"`
	Role    string    `json:"role"`
	Expires time.Time `json:"expires"`
	Via     string    `json:"via,omitempty"`  // how the user logged in; "": by a link of the socket
	Mark    string    `json:"mark,omitempty"` // of the password; another one ends the session
}

// SaveSession keeps a session by the digest of its token, which is not stored; nil removes it.
func (f ConsoleFacts) SaveSession(digest string, s *SessionFact) error {
	return saveFact(f.in, kindSessions, digest, s)
}

// Sessions returns the sessions by the digests of their tokens. One that cannot be read is left out.
func (f ConsoleFacts) Sessions() (map[string]SessionFact, error) {
	return factsOf[SessionFact](f.in, kindSessions)
}

// Kinds of the stored access facts.
const (
	kindTokens = "tokens" // name -> TokenFact as JSON
	kindHooks  = "hooked" // job -> HookFact as JSON
	kindUsers  = "users"  // name -> UserFact as JSON
)

// CommonKinds are the kinds of KeyValues that nodes of a cluster have in common: users, tokens, sessions of
// the console and pauses of jobs. A session comes after its user.
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
	return changeFact(f.in, kindTokens, name, change)
}

// Tokens returns all tokens by name. One that cannot be read is left out.
func (f ConsoleFacts) Tokens() (map[string]TokenFact, error) {
	return factsOf[TokenFact](f.in, kindTokens)
}

// HookFact is the stored state of the signed calls for a job.
type HookFact struct {
	First time.Time            `json:"first,omitzero"` // of the calls that no run was started for yet
	Last  time.Time            `json:"last,omitzero"`  // of them; zero: nothing waits
	Seen  map[string]time.Time `json:"seen,omitempty"` // by the identifiers of calls, which count once
}

// ChangeHook changes the HookFact of a job, as ChangeToken does.
func (f ConsoleFacts) ChangeHook(job string, change func(*HookFact) (*HookFact, error)) error {
	return changeFact(f.in, kindHooks, job, change)
}

// Hooks returns the stored HookFacts by job, without those that cannot be read.
func (f ConsoleFacts) Hooks() (map[string]HookFact, error) {
	return factsOf[HookFact](f.in, kindHooks)
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
	return changeFact(f.in, kindUsers, name, change)
}

// Users returns all users by name. One that cannot be read is left out.
func (f ConsoleFacts) Users() (map[string]UserFact, error) {
	return factsOf[UserFact](f.in, kindUsers)
}

// OrderFacts are the stored records of orders in mirror.db. Its values belong to package app/orders.
type OrderFacts struct{ in *Database }

func NewOrderFacts(in *Database) OrderFacts { return OrderFacts{in} }

// NextOrder returns a number that no order has had.
func (f OrderFacts) NextOrder() (n uint64, err error) {
	err = f.in.update("number an order", func(tx *db.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(kindOrders))
		if err != nil {
			return err
		}
		n, err = b.NextSequence()
		return err
	})
	return n, err
}

// ChangeOrder replaces the value of an order by what change makes of it; nil stands for none. An error of
// change leaves it as it was.
func (f OrderFacts) ChangeOrder(n uint64, change func(was []byte) ([]byte, error)) error {
	return f.in.Change(kindOrders, string(db.NumberKey(n)), change)
}

// Orders returns the values of all orders by their numbers.
func (f OrderFacts) Orders() (map[uint64][]byte, error) {
	all, err := f.in.All(kindOrders)
	out := make(map[uint64][]byte, len(all))
	for k, v := range all {
		if len(k) == 8 {
			out[binary.BigEndian.Uint64([]byte(k))] = v
		}
	}
	return out, err
}

// kindPauses is the kind of the requested pauses of jobs of a cluster: job -> PauseFact as JSON.
const kindPauses = "pauses"

// PauseFact says whether a job is paused, whichever node of a cluster has it.
type PauseFact struct {
	Paused bool      `json:"paused"`
	At     time.Time `json:"at"` // since when, by the clock of the machine where it was requested
}

// ChangePause replaces the stored pause of a job by the result of change; nil is no pause. An error of change
// leaves all as it was.
func ChangePause(s KeyValues, job string, change func(*PauseFact) (*PauseFact, error)) error {
	return changeFact(s, kindPauses, job, change)
}

// NotePause stores that a job of a cluster is paused, or is not, and reports whether that is new.
func NotePause(s KeyValues, job string, paused bool, now time.Time) (changed bool, err error) {
	err = ChangePause(s, job, func(was *PauseFact) (*PauseFact, error) {
		if changed = was == nil || was.Paused != paused; !changed {
			return was, nil
		}
		return &PauseFact{Paused: paused, At: now.UTC().Truncate(time.Second)}, nil
	})
	return changed, err
}

// Pauses returns the stored pauses by job, without those that cannot be read.
func Pauses(s KeyValues) (map[string]PauseFact, error) { return factsOf[PauseFact](s, kindPauses) }
