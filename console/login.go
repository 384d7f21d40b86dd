// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/app/access"
	"mirrord/store/shared"
)

// How long things last, and how many there are.
const (
	linkFor    = 5 * time.Minute // a login link
	sessionFor = 24 * time.Hour
	mostLinks  = 100             // that wait; the oldest goes
	mostOpen   = 1000            // sessions; the oldest goes
	tryEvery   = 3 * time.Second // wrong links from one address, after tryBurst; then the answer is 429
	tryBurst   = 20
	triesFor   = time.Minute // after which there is another burst
)

// logins knows who is logged in. It is safe for concurrent use. Links and sessions are known by the SHA-256
// of their tokens; tokens have 256 random bits, so that guessing is hopeless and the bound on wrong ones only
// keeps the log short.
type logins struct {
	facts Facts
	now   func() time.Time
	// hands in changes of this node, and fetches those of other nodes; nil: there are none
	exchange func(context.Context)

	mu       sync.Mutex
	links    map[string]shared.SessionFact // by digest
	sessions map[string]shared.SessionFact
	unkept   map[string]bool // of sessions: those that could not be stored
	read     time.Time       // when sessions were read

	tries *access.Limit // wrong links, by address
}

// newLogins takes over the sessions of the process before.
func newLogins(facts Facts, now func() time.Time, exchange func(context.Context)) (*logins, error) {
	kept, err := facts.Sessions()
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return &logins{
		facts:    facts,
		now:      now,
		exchange: exchange,
		links:    map[string]shared.SessionFact{},
		sessions: kept,
		unkept:   map[string]bool{},
		read:     now(),
		tries:    access.NewLimit(tryEvery, tryBurst),
	}, nil
}

// readEvery is how old the known sessions of other nodes may be.
const readEvery = time.Second

// refresh reads the sessions again when there are other nodes, which change them too. The caller holds the
// lock.
func (l *logins) refresh(most time.Duration) {
	now := l.now()
	if age := now.Sub(l.read); l.exchange == nil || (age >= 0 && age < most) {
		return
	}
	kept, err := l.facts.Sessions()
	if err != nil {
		return // what was known counts; the next one tries again
	}
	for digest := range l.unkept {
		if f, ok := l.sessions[digest]; ok {
			kept[digest] = f
		}
	}
	l.sessions, l.read = kept, now
}

// share gives other nodes the changes of this one, and fetches theirs.
func (l *logins) share(ctx context.Context) {
	if l.exchange == nil {
		return
	}
	l.exchange(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh(0)
}

// link makes a token that logs in once.
func (l *logins) link(user string, role Role) (token string, expires time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	token, expires = access.NewSecret(), l.now().Add(linkFor)
	makeRoom(l.links, mostLinks)
	l.links[access.Digest(token)] = shared.SessionFact{User: user, Role: role.String(), Expires: expires}
	return token, expires
}

// makeRoom removes the entries that end first until one more fits.
func makeRoom(all map[string]shared.SessionFact, most int) (gone []string) {
	for len(all) >= most {
		first := ""
		for k, f := range all {
			if first == "" || f.Expires.Before(all[first].Expires) {
				first = k
			}
		}
		delete(all, first)
		gone = append(gone, first)
	}
	return gone
}

// use takes a link's token and returns that of a new session. A session is always new, so that none can be
// planted. ok is false for a token that is wrong, used or too old; slow says that this address tried too
// many of them. A right link works after any number of wrong ones.
func (l *logins) use(token, from string) (session string, who account, ok, slow bool) {
	now := l.now()
	l.mu.Lock()
	f, ok := l.links[access.Digest(token)]
	delete(l.links, access.Digest(token))
	l.mu.Unlock()
	if !ok || now.After(f.Expires) {
		return "", who, false, !l.tries.Allow(from, now)
	}
	return l.start(f), accountOf(f), true, false
}

// start makes a session.
func (l *logins) start(f shared.SessionFact) (session string) {
	session = access.NewSecret()
	digest := access.Digest(session)
	f.Expires = l.now().Add(sessionFor)
	l.prune()
	l.mu.Lock()
	l.refresh(0)
	gone := makeRoom(l.sessions, mostOpen)
	l.sessions[digest] = f
	l.unkept[digest] = true
	for _, digest := range gone {
		delete(l.unkept, digest)
	}
	l.mu.Unlock()
	// Not stored, it ends with the process: no reason to refuse it.
	if l.facts.SaveSession(digest, &f) == nil {
		l.mu.Lock()
		delete(l.unkept, digest)
		l.mu.Unlock()
	}
	for _, digest := range gone {
		_ = l.facts.SaveSession(digest, nil)
	}
	return session
}

func accountOf(f shared.SessionFact) account {
	return account{Name: f.User, Role: access.RoleOf(f.Role), via: "session"}
}

// session returns the session of a token.
func (l *logins) session(token string) (shared.SessionFact, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh(readEvery)
	f, ok := l.sessions[access.Digest(token)]
	return f, ok && !l.now().After(f.Expires)
}

// end ends a session.
func (l *logins) end(token string) {
	digest := access.Digest(token)
	l.drop(func(of string, _ shared.SessionFact) bool { return of == digest })
}

// drop ends the sessions that a function chooses.
func (l *logins) drop(ends func(digest string, f shared.SessionFact) bool) (n int) {
	var gone []string
	l.mu.Lock()
	l.refresh(0)
	for digest, f := range l.sessions {
		if ends(digest, f) {
			delete(l.sessions, digest)
			delete(l.unkept, digest)
			gone = append(gone, digest)
		}
	}
	l.mu.Unlock()
	for _, digest := range gone {
		_ = l.facts.SaveSession(digest, nil) // it expires anyway
	}
	return len(gone)
}

// prune forgets what has ended.
func (l *logins) prune() {
	now := l.now()
	l.drop(func(_ string, f shared.SessionFact) bool { return now.After(f.Expires) })
}

// users are the users with sessions, each with the session that lasts longest. whose is who has a session
// now; the zero value when it has ended with its user.
func (l *logins) users(whose func(shared.SessionFact) account) (out []userRow) {
	now := l.now()
	l.mu.Lock()
	l.refresh(readEvery)
	all := slices.Collect(maps.Values(l.sessions))
	l.mu.Unlock()
	for _, f := range all {
		who := whose(f)
		if now.After(f.Expires) || who.Name == "" {
			continue
		}
		f.Role = who.Role.String()
		same := func(r userRow) bool { return r.User == f.User && r.Role == f.Role }
		at := slices.IndexFunc(out, same)
		if at < 0 {
			at = len(out)
			out = append(out, userRow{SessionFact: f})
		}
		out[at].Sessions++
		if f.Expires.After(out[at].Expires) {
			out[at].Expires = f.Expires
		}
	}
	slices.SortFunc(out, func(a, b userRow) int {
		return cmp.Or(strings.Compare(a.User, b.User), strings.Compare(a.Role, b.Role))
	})
	return out
}

// endUser ends all sessions of a user.
func (l *logins) endUser(name string) int {
	return l.drop(func(_ string, f shared.SessionFact) bool { return f.User == name })
}
