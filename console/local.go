// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/ops"
	"mirrord/store/shared"
)

// Passwords are the users who log in with a password.
type Passwords struct {
	Book   *access.Book
	Hasher *access.Hasher
	// replaces a user, as shared.ConsoleFacts.ChangeUser does
	Change func(name string, change func(*shared.UserFact) (*shared.UserFact, error)) error
}

// How often passwords are tried. A link of mirrord console always works.
const (
	clientEvery = 3 * time.Second // from one address, after clientBurst
	clientBurst = 20
	nameEvery   = time.Minute // for one user, after nameBurst
	nameBurst   = 10
)

// How often other nodes are asked for a session that is not known here.
const (
	askEvery = time.Second // from one address, after askBurst
	askBurst = 10
)

// viaPassword marks sessions of users with passwords: they end with the user and with the password.
const viaPassword = "password"

// markOf tells a password from another one.
func markOf(hash string) string { return access.Digest(hash)[:16] }

// accountNow is whose a session is, with the role that he has now; the zero value when it has ended.
func (s *Server) accountNow(f shared.SessionFact) account {
	who := accountOf(f)
	if f.Via == viaOIDC && s.OIDC == nil {
		return account{}
	}
	if f.Via != viaPassword {
		return who
	}
	if s.Passwords == nil {
		return account{}
	}
	same := func(u shared.UserFact) bool { return markOf(u.Hash) == f.Mark }
	u, ok, err := s.Passwords.Book.User(f.User, same)
	if err != nil {
		s.Log.Error("console", "err", err)
	}
	if !ok {
		return account{}
	}
	who.Role = access.RoleOf(u.Role)
	return who
}

// hasForm reports whether a user can log in with a password.
func (s *Server) hasForm() bool {
	if s.Passwords == nil {
		return false
	}
	has, err := s.Passwords.Book.HasUsers()
	return has && err == nil
}

// loginForm is what the page of the login shows.
type loginForm struct {
	Why      string // the last attempt failed
	Name     string
	Password bool   // a user can log in with one
	Provider string // where users can log in, too; ""
}

// asks reports whether there is something to log in with on a page.
func (s *Server) asks() bool { return s.OIDC != nil || s.hasForm() }

// askLogin shows the form of the login.
func (s *Server) askLogin(w http.ResponseWriter, r *http.Request, why string) {
	v := &visit{
		Server: s,
		w:      w,
		r:      r,
	}
	form := loginForm{
		Why:      why,
		Name:     access.Clip(r.PostFormValue("name")),
		Password: s.hasForm(),
	}
	if s.OIDC != nil {
		form.Provider = s.OIDC.At()
	}
	if err := v.draw(http.StatusUnauthorized, "login.html", "Log in", form); err != nil {
		s.Log.Error("console", "err", err)
		http.Error(w, "log in first", http.StatusUnauthorized)
	}
}

// private reports whether a request cannot be read on the way: it came over TLS, from this machine, or from
// the proxy.
func (s *Server) private(r *http.Request) bool {
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && ap.Addr().Unmap().IsLoopback() {
		return true
	}
	return r.TLS != nil || s.Proxy.From.Trust(r.RemoteAddr)
}

// byPassword checks the name and the password of a form.
func byPassword(v *visit) (name string, u shared.UserFact, err error) {
	name, password := strings.TrimSpace(v.r.PostFormValue("name")), v.r.PostFormValue("password")
	if v.Passwords == nil {
		return "", u, errNoPage
	}
	if !v.private(v.r) {
		return "", u, errClear
	}
	now := v.Now()
	known := access.CheckName(name) == nil
	if !v.clients.Allow(v.Proxy.From.Client(v.r), now) || (known && !v.names.Allow(name, now)) {
		return "", u, errTries // not in the log, which would be full of it
	}
	if known {
		if u, err = v.Passwords.Book.UserNow(name); err != nil {
			return "", u, err
		}
	}
	good := v.Passwords.Hasher.Fits(u.Hash, password)
	if !good || (u.Initial && now.Sub(u.Changed) > access.InitialFor) {
		v.audit(v.r, account{}, act{what: "login", about: "with the password of " + access.Clip(name)}, errPassword)
		return "", u, errPassword
	}
	return name, u, nil
}

// enter starts the session of a user.
func enter(v *visit, name string, u shared.UserFact) {
	f := shared.SessionFact{
		User: name,
		Role: u.Role,
		Via:  viaPassword,
		Mark: markOf(u.Hash),
	}
	v.loggedIn(accountOf(f), v.logins.start(f))
}

// passwordLogin logs a user in. A user with an initial password must choose one first.
func passwordLogin(v *visit) error {
	name, u, err := byPassword(v)
	switch {
	case errors.Is(err, errPassword):
		v.askLogin(v.w, v.r, err.Error())
		return nil
	case err != nil:
		return err
	case u.Initial:
		return askPassword(v, http.StatusOK, passwordForm{Name: name, First: true})
	}
	enter(v, name, u)
	http.Redirect(v.w, v.r, "/", http.StatusSeeOther)
	return nil
}

// passwordForm is what the page of a new password shows.
type passwordForm struct {
	Name  string
	Why   string // the last attempt failed
	First bool   // an operator made the password
}

func askPassword(v *visit, code int, f passwordForm) error {
	return v.draw(code, "password.html", "Choose a password", f)
}

// passwordPage lets a user choose another password.
func passwordPage(v *visit) error {
	if v.Passwords == nil {
		return errNoPage
	}
	name := ""
	if v.who.In() {
		name = v.who.Name
	}
	return askPassword(v, http.StatusOK, passwordForm{Name: name})
}

// changePassword sets a password that a user has chosen, and logs him in.
func changePassword(v *visit) error {
	name, u, err := byPassword(v)
	if errors.Is(err, errPassword) {
		return askPassword(v, http.StatusUnauthorized, passwordForm{
			Name: access.Clip(v.r.PostFormValue("name")),
			Why:  err.Error(),
		})
	}
	if err != nil {
		return err
	}
	next := v.r.PostFormValue("new")
	why := access.CheckPassword(name, next)
	switch {
	case why != nil:
	case next != v.r.PostFormValue("again"):
		why = errors.New("the new passwords differ")
	case next == v.r.PostFormValue("password"):
		why = errors.New("the new password is the old one")
	}
	if why != nil {
		return askPassword(v, http.StatusUnprocessableEntity, passwordForm{
			Name:  name,
			Why:   why.Error(),
			First: u.Initial,
		})
	}
	changed := shared.UserFact{Role: u.Role, Hash: v.Passwords.Hasher.Hash(next), Changed: v.Now().UTC()}
	err = v.Passwords.Change(name, func(was *shared.UserFact) (*shared.UserFact, error) {
		if was == nil || was.Hash != u.Hash { // removed, or changed by another user
			return nil, ops.ErrChanged
		}
		changed.Role = was.Role
		return &changed, nil
	})
	v.audit(v.r, account{Name: name}, act{what: "change the own password"}, err)
	if err != nil {
		return err
	}
	enter(v, name, changed)
	http.Redirect(v.w, v.r, "/?said=changed", http.StatusSeeOther)
	return nil
}
