// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"mirrord/access"
	"mirrord/store"
)

// How logins with a provider are bounded.
const (
	goingFor  = 10 * time.Minute // from the first page to the last
	mostGoing = 1000             // logins that were begun; the oldest goes
	viaOIDC   = "oidc"
)

// goings are the logins with a provider that were begun. Each is known by the digest of its state, and only
// the browser with its cookie can end it. The zero value is ready. It is safe for concurrent use.
type goings struct {
	mu  sync.Mutex
	all map[string]going // by digest of the state
}

type going struct {
	access.Going
	cookie  string // digest
	expires time.Time
}

func (g *goings) put(state string, x going) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[string]going{}
	}
	for len(g.all) >= mostGoing {
		first := ""
		for k, y := range g.all {
			if first == "" || y.expires.Before(g.all[first].expires) {
				first = k
			}
		}
		delete(g.all, first)
	}
	g.all[access.Digest(state)] = x
}

// take ends a login, so that nothing of it is used twice.
func (g *goings) take(state, cookie string, now time.Time) (access.Going, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x, ok := g.all[access.Digest(state)]
	if !ok || x.cookie != access.Digest(cookie) { // nobody ends the login of another browser
		return access.Going{}, false
	}
	delete(g.all, access.Digest(state))
	return x.Going, !now.After(x.expires)
}

// errGoing says that no login of this browser has come back.
var errGoing = errors.New("this login was not begun in this browser, was used already, or took too long")

func oidcCookie(r *http.Request) string { return cookieName(r) + "-oidc" }

// setOIDCCookie marks the browser that begins a login. The provider leads back from its own site, where no
// strict cookie would come along.
func setOIDCCookie(v *visit, value string, maxAge int) {
	http.SetCookie(v.w, &http.Cookie{
		Name:     oidcCookie(v.r),
		Value:    value,
		Path:     "/login/oidc",
		MaxAge:   maxAge,
		HttpOnly: true,
		Secure:   overTLS(v.r),
		SameSite: http.SameSiteLaxMode,
	})
}

// beginOIDC leads to the provider. It is a link, as a form may lead to this origin only.
func beginOIDC(v *visit) error {
	if v.o.OIDC == nil {
		return errNoPage
	}
	if at, err := url.Parse(v.o.OIDC.Console()); err == nil && at.Host != v.r.Host { // the cookie would be lost
		http.Redirect(v.w, v.r, v.o.OIDC.Console()+"/login/oidc", http.StatusSeeOther)
		return nil
	}
	now := v.o.Now()
	if !v.clients.Allow(v.clientOf(v.r), now) {
		return errTries
	}
	state, cookie := access.NewSecret(), access.NewSecret()
	to, g, err := v.o.OIDC.Begin(v.r.Context(), state)
	if err != nil {
		v.audit(v.r, account{}, act{what: "login", about: "with " + v.o.OIDC.At()}, err)
		return oidcError{err}
	}
	v.goings.put(state, going{
		Going:   g,
		cookie:  access.Digest(cookie),
		expires: now.Add(goingFor),
	})
	setOIDCCookie(v, cookie, int(goingFor.Seconds()))
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// endOIDC takes who comes back from the provider. The answer is a page and no redirect: browsers would not
// send the new cookie, which is strict, with a redirect that began at another site.
func endOIDC(v *visit) error {
	if v.o.OIDC == nil {
		return errNoPage
	}
	cookie := ""
	if c, err := v.r.Cookie(oidcCookie(v.r)); err == nil {
		cookie = c.Value
	}
	g, ok := v.goings.take(v.r.FormValue("state"), cookie, v.o.Now())
	if !ok {
		if !v.clients.Allow(v.clientOf(v.r), v.o.Now()) {
			return errTries // not in the log, which would be full of it
		}
		v.audit(v.r, account{}, act{what: "login", about: "with " + v.o.OIDC.At()}, errGoing)
		return errGoing
	}
	setOIDCCookie(v, "", -1)
	name, role, err := "", Nobody, error(nil)
	if why := v.r.FormValue("error"); why != "" {
		err = errors.New(v.o.OIDC.At() + " refused the login: " + access.Clip(why))
	} else {
		name, role, err = v.o.OIDC.Finish(v.r.Context(), v.r.FormValue("code"), g)
	}
	if err != nil {
		v.audit(v.r, account{Name: name}, act{what: "login", about: "with " + v.o.OIDC.At()}, err)
		return oidcError{err}
	}
	f := store.SessionFact{User: name, Role: role.String(), Via: viaOIDC}
	v.loggedIn(accountOf(f), v.logins.start(f))
	return v.draw(http.StatusOK, "welcome.html", "Logged in", name)
}

// oidcError is a login that failed at the provider.
type oidcError struct{ error }

func (e oidcError) Unwrap() error { return e.error }
