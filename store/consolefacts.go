// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"fmt"
	"time"
)

// bAudit is the bucket of mirror.db for the audit log: number -> AuditEntry as JSON.
var bAudit = []byte("audit")

// kindSessions is the kind of sessions: digest of a token -> SessionFact as JSON.
const kindSessions = "sessions"

// ConsoleFacts is what the console keeps in mirror.db: the audit log and the sessions. A mirror.db that is
// lost costs both; the daemon's log has the acts too.
type ConsoleFacts struct{ st *State }

// NewConsoleFacts returns those of a state.
func NewConsoleFacts(st *State) ConsoleFacts { return ConsoleFacts{st} }

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
	return f.st.updateDB("write audit log", func(tx *transaction) error {
		b, err := tx.CreateBucketIfNotExists(bAudit)
		if err != nil {
			return err
		}
		return appendFact(b, v, keptAudit)
	})
}

// Audit returns the last n entries of the audit log, newest first. One that cannot be read is left out.
func (f ConsoleFacts) Audit(n int) (out []AuditEntry, err error) {
	err = f.st.viewDB(func(tx *transaction) error {
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
	return saveFact(SharedOf(f.st), kindSessions, digest, s)
}

// Sessions returns the sessions by the digests of their tokens. One that cannot be read is left out.
func (f ConsoleFacts) Sessions() (map[string]SessionFact, error) {
	return factsOf[SessionFact](SharedOf(f.st), kindSessions)
}
