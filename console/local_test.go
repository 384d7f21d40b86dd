// SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/app/access"
	"mirrord/store/shared"
)

// fakeUsers is kept in memory.
type fakeUsers struct {
	mu    sync.Mutex
	users map[string]shared.UserFact

	tokens map[string]shared.TokenFact
}

func (f *fakeUsers) Tokens() (map[string]shared.TokenFact, error) { return f.tokens, nil }

func (f *fakeUsers) Users() (map[string]shared.UserFact, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.users), nil
}

func (f *fakeUsers) change(name string, change func(*shared.UserFact) (*shared.UserFact, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var was *shared.UserFact
	if u, ok := f.users[name]; ok {
		was = &u
	}
	now, err := change(was)
	switch {
	case err != nil:
	case now == nil:
		delete(f.users, name)
	default:
		f.users[name] = *now
	}
	return err
}

// set gives a user a password.
func (f *fakeUsers) set(
	h *access.Hasher, name string, role Role, password string, initial bool, at time.Time,
) {
	f.users[name] = shared.UserFact{
		Role:    role.String(),
		Hash:    h.Hash(password),
		Initial: initial,
		Changed: at,
	}
}

const annsPassword = "correct horse battery"

// newLocal is a browser of a console where ann has a password.
func newLocal(t *testing.T, with func(*Options)) (*browser, *fakeUsers, *access.Hasher) {
	users := &fakeUsers{users: map[string]shared.UserFact{}}
	h := access.NewHasher(64) // KiB: what it costs is not of interest here
	b := newBrowser(t, func(o *Options) {
		o.Passwords = &Passwords{Book: access.NewBook(users, o.Now), Hasher: h, Change: users.change}
		if with != nil {
			with(o)
		}
	})
	users.set(h, "ann", Operate, annsPassword, false, b.now)
	return b, users, h
}

func entering(name, password string) url.Values {
	return url.Values{"name": {name}, "password": {password}}
}

// A user logs in with a password; the session ends with the user and the password, and has the user's role.
func TestPasswordLogin(t *testing.T) {
	b, users, h := newLocal(t, nil)
	b.want(http.StatusUnauthorized, `type="password"`, "/", nil)
	b.want(http.StatusUnauthorized, `type="password"`, "/login", nil)
	unknown := b.want(http.StatusUnauthorized, "is wrong", "/login", entering("bob", annsPassword))
	wrong := b.want(http.StatusUnauthorized, "is wrong", "/login", entering("ann", "wrong"))
	if strings.ReplaceAll(unknown, "bob", "ann") != wrong {
		t.Errorf("a user that there is not looks otherwise:\n%s\n%s", unknown, wrong)
	}
	b.want(http.StatusSeeOther, "/", "/login", entering("ann", annsPassword))
	b.want(http.StatusOK, "ann · operate", "/", nil)
	last := b.facts.audit[len(b.facts.audit)-1]
	if last.Who != "ann" || last.What != "login" || last.Error != "" {
		t.Errorf("the audit log has %+v", last)
	}
	b.start(func(o *Options) {
		o.Passwords = &Passwords{Book: access.NewBook(users, o.Now), Hasher: h, Change: users.change}
	})
	b.want(http.StatusOK, "ann · operate", "/", nil)
	u := users.users["ann"]
	u.Role = Read.String()
	users.users["ann"] = u
	b.now = b.now.Add(time.Second)
	b.want(http.StatusOK, "ann · read", "/", nil)
	b.want(http.StatusForbidden, "your role", "/audit", nil)
	users.set(h, "ann", Operate, annsPassword+"!", false, b.now)
	b.now = b.now.Add(time.Second)
	b.want(http.StatusUnauthorized, "Log in", "/", nil)
	b.want(http.StatusSeeOther, "/", "/login", entering("ann", annsPassword+"!"))
	delete(users.users, "ann")
	b.now = b.now.Add(time.Second)
	b.want(http.StatusUnauthorized, "mirrord console", "/", nil)
}

// The first login, and that after a lost password, lead to a password that only the user knows.
func TestInitialPassword(t *testing.T) {
	b, users, h := newLocal(t, nil)
	given := access.NewPassword()
	users.set(h, "bob", Order, given, true, b.now)
	b.want(http.StatusOK, "that you were given", "/login", entering("bob", given))
	if b.cookie != nil {
		t.Fatal("an initial password logged in")
	}
	form := func(old, next, again string) url.Values {
		return url.Values{"name": {"bob"}, "password": {old}, "new": {next}, "again": {again}}
	}
	const mine = "tea at five o'clock"
	b.want(http.StatusUnauthorized, "is wrong", "/password", form("wrong", mine, mine))
	for next, why := range map[string]string{
		"short": "at least 12", strings.Repeat("x", 20): "one character", "bob is my name": "name of the user",
		given: "is the old one", strings.Repeat("ab", 300): "at most",
	} {
		b.want(http.StatusUnprocessableEntity, why, "/password", form(given, next, next))
		b.now = b.now.Add(time.Hour)
	}
	b.want(http.StatusUnprocessableEntity, "differ", "/password", form(given, mine, mine+"!"))
	b.want(http.StatusSeeOther, "said=changed", "/password", form(given, mine, mine))
	b.want(http.StatusOK, "bob · order", "/?said=changed", nil)
	b.want(http.StatusOK, `value="bob"`, "/password", nil)
	b.want(http.StatusUnauthorized, "is wrong", "/login", entering("bob", given))

	users.set(h, "bob", Order, given, true, b.now)
	b.now = b.now.Add(access.InitialFor + time.Second)
	b.want(http.StatusUnauthorized, "too old", "/login", entering("bob", given))
	b.want(http.StatusUnauthorized, "too old", "/password", form(given, mine, mine))
}

// Very many passwords are refused without being tried, from one address and from many, and fill no log; in
// the long run they are 10 000. A link logs in all the same, and a user gets in again when it is over.
func TestPasswordAttempts(t *testing.T) {
	b, users, h := newLocal(t, nil)
	users.set(h, "bob", Read, annsPassword, false, b.now)
	all := 300
	if os.Getenv("MIRRORD_LONG") != "" {
		all = 10_000
	}
	tried := map[int]int{}
	for range all {
		tried[b.do("/login", entering("ann", access.NewSecret())).Code]++
		b.now = b.now.Add(time.Millisecond)
	}
	if tried[http.StatusUnauthorized] > nameBurst+1 || len(b.facts.audit) > nameBurst+1 {
		t.Errorf("one address: %v; %d in the audit log", tried, len(b.facts.audit))
	}
	b.now = b.now.Add(time.Hour)
	clear(tried)
	for i := range all {
		b.change = func(r *http.Request) {
			r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)
			r.TLS = new(tls.ConnectionState)
		}
		tried[b.do("/login", entering("ann", access.NewSecret())).Code]++
	}
	if tried[http.StatusUnauthorized] != nameBurst || tried[http.StatusTooManyRequests] != all-nameBurst {
		t.Errorf("many addresses: %v", tried)
	}
	b.want(http.StatusTooManyRequests, "", "/login", entering("ann", annsPassword))
	b.want(http.StatusSeeOther, "/", "/login", entering("bob", annsPassword))
	b.login(Operate)
	b.now = b.now.Add(nameEvery)
	b.want(http.StatusSeeOther, "/", "/login", entering("ann", annsPassword))
}

// A form of another site makes no login, names and passwords are text on every page, and behind a proxy it is
// the address that the proxy saw which is limited.
func TestPasswordAttacks(t *testing.T) {
	b, _, _ := newLocal(t, func(o *Options) {
		o.Proxy = Proxy{From: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Header: "Remote-User"}
	})
	b.change = func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	b.want(http.StatusForbidden, "another site", "/login", entering("ann", annsPassword))
	const evil = `"><script>alert(1)</script>`
	for _, path := range []string{"/login", "/password"} {
		doc := parse(t, b.do(path, entering(evil, evil)).Body.String())
		if n := doc.Find("script:not([src^='/static/'])").Length(); n > 0 {
			t.Errorf("%s: %d scripts", path, n)
		}
	}
	b.change = func(r *http.Request) { r.RemoteAddr = "192.0.2.5:1" }
	b.want(http.StatusForbidden, "over TLS only", "/login", entering("ann", annsPassword))
	from := func(ip string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.9, "+ip) }
	}
	for range 2 * clientBurst {
		b.change = from("198.51.100.1")
		b.do("/login", entering("noone", "x"))
	}
	b.change = from("198.51.100.1")
	b.want(http.StatusTooManyRequests, "", "/login", entering("ann", annsPassword))
	b.change = from("198.51.100.2")
	b.want(http.StatusSeeOther, "/", "/login", entering("ann", annsPassword))
	if b.cookie.Secure {
		t.Error("the cookie wants TLS, which the browser does not speak")
	}
	b.change = func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }
	b.want(http.StatusSeeOther, "/", "/login", entering("ann", annsPassword))
	if !b.cookie.Secure {
		t.Error("the cookie goes over connections without TLS")
	}
}
