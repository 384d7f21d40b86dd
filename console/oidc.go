// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
	"net/url"

	"mirrord/app/access"
	"mirrord/store/shared"
)

const viaOIDC = "oidc"

func oidcCookie(r *http.Request) string { return cookieName(r) + "-oidc" }

// setOIDCCookie marks the browser that begins a login. The provider leads back from its own site, where no
// strict cookie would come along.
func setOIDCCookie(v *visit, value string, maxAge int) {
	v.cookie(oidcCookie(v.r), value, "/login/oidc", maxAge, http.SameSiteLaxMode)
}

// beginOIDC redirects to the provider. It is a link, as a form may lead to this origin only.
func beginOIDC(v *visit) error {
	if v.OIDC == nil {
		return errNoPage
	}
	if at, err := url.Parse(v.OIDC.Console()); err == nil && at.Host != v.r.Host { // the cookie would be lost
		http.Redirect(v.w, v.r, v.OIDC.Console()+"/login/oidc", http.StatusSeeOther)
		return nil
	}
	if !v.clients.Allow(v.Proxy.From.Client(v.r), v.Now()) {
		return errTries
	}
	to, cookie, err := v.OIDC.Begin(v.r.Context())
	if err != nil {
		oidcFailed(v, "", err)
		return oidcError{err}
	}
	setOIDCCookie(v, cookie, int(access.GoingFor.Seconds()))
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// endOIDC takes who comes back from the provider. The answer is a page and no redirect: browsers would not
// send the new cookie, which is strict, with a redirect that began at another site.
func endOIDC(v *visit) error {
	if v.OIDC == nil {
		return errNoPage
	}
	cookie := ""
	if c, err := v.r.Cookie(oidcCookie(v.r)); err == nil {
		cookie = c.Value
	}
	if !v.clients.Allow(v.Proxy.From.Client(v.r), v.Now()) {
		return errTries // not in the log, which would be full of it
	}
	login, err := v.OIDC.Back(v.r.FormValue("state"), cookie)
	if err != nil {
		oidcFailed(v, "", err)
		return err
	}
	setOIDCCookie(v, "", -1)
	name, role := "", Anonymous
	if why := v.r.FormValue("error"); why != "" {
		err = errors.New(v.OIDC.At() + " refused the login: " + access.Clip(why))
	} else {
		name, role, err = login.Finish(v.r.Context(), v.r.FormValue("code"))
	}
	if err != nil {
		oidcFailed(v, name, err)
		return oidcError{err}
	}
	f := shared.SessionFact{User: name, Role: role.String(), Via: viaOIDC}
	v.loggedIn(accountOf(f), v.logins.start(f))
	return v.show("welcome.html", "Logged in", name)
}

// oidcFailed notes a login that failed in the audit log.
func oidcFailed(v *visit, name string, err error) {
	v.audit(v.r, account{Name: name}, act{what: "login", about: "with " + v.OIDC.At()}, err)
}

// oidcError is a login that failed at the provider.
type oidcError struct{ error }

func (e oidcError) Unwrap() error { return e.error }
