// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mirrord/app/access"
	"mirrord/app/orders"
	"mirrord/job"
	"mirrord/scheduler/control"
	"mirrord/store"
)

// visit is a request of somebody who may make it.
type visit struct {
	*Server
	w   http.ResponseWriter
	r   *http.Request
	who account
	job string // of the path; "" without one
}

// route is an address of the console. An error that its handler returns becomes a page.
type route struct {
	pattern string
	need    Role
	handle  func(v *visit) error
}

func routes() []route {
	return []route{
		{"GET /{$}", Read, listPage},
		{"GET /feed.atom", Read, allFeed},
		{"GET /jobs/{job}", Read, ofJob(jobPage)},
		{"GET /jobs/{job}/live", Read, lasting(liveJob)},
		{"GET /jobs/{job}/over", Read, overPage},
		{"GET /jobs/{job}/feed.atom", Read, ofMirror(jobFeed)},
		{"GET /jobs/{job}/versions", Read, ofMirror(versionsPage)},
		{"GET /jobs/{job}/diff", Read, ofMirror(diffPage)},
		{"GET /jobs/{job}/view", Read, ofMirror(viewPage)},
		{"GET /jobs/{job}/beside", Read, ofMirror(besidePage)},
		{"GET /jobs/{job}/step", Read, ofMirror(stepPage)},
		{"GET /jobs/{job}/search", Read, ofMirror(searchPage)},
		{"GET /jobs/{job}/changes", Read, ofMirror(ofJob(heatPage))},
		{"GET /jobs/{job}/explain", Read, ofMirror(ofJob(explainPage))},
		{"GET /jobs/{job}/plan", Read, ofMirror(ofJob(planPage))},
		{"POST /jobs/{job}/rollback", Operate, ofMirror(bringBack)},
		{"POST /jobs/{job}/run", Operate, runJob},
		{"POST /jobs/{job}/accept", Operate, acceptHeld},
		{"POST /jobs/{job}/cancel", Operate, cancelRun},
		{"POST /jobs/{job}/pause", Operate, pauseJob},
		{"POST /jobs/{job}/resume", Operate, resumeJob},
		{"GET /jobs/{job}/file", Operate, editPage},
		{"POST /jobs/{job}/file", Operate, editJob},
		{"GET /order", Order, orderPage},
		{"POST /order", Order, draftOrder},
		{"GET /orders", Order, ordersPage},
		{"GET /orders/{n}", Order, ofOrder(orders.ToShow, anOrder)},
		{"GET /orders/{n}/live", Order, lasting(ofOrder(orders.ToShow, liveOrder))},
		{"GET /orders/{n}/over", Order, overPage},
		{"POST /orders/{n}/place", Order, ofOrder(orders.ToAct, placeOrder)},
		{"POST /orders/{n}/cancel", Order, ofOrder(orders.ToAct, cancelOrder)},
		{"POST /orders/{n}/judge", Operate, ofOrder(orders.ToAct, judgeOrder)},
		{"POST /orders/{n}/keep", Order, ofOrder(orders.ToAct, keepOrder)},
		{"GET /orders/{n}/files/{name}", Order, ofOrder(orders.ToFetch, orderFile)},
		{"GET /jobs/{job}/gc", Operate, ofMirror(gcPage)},
		{"POST /jobs/{job}/gc", Operate, ofMirror(gcJob)},
		{"GET /jobs/{job}/equivalents", Operate, ofMirror(equivalentsPage)},
		{"POST /jobs/{job}/equivalents", Operate, ofMirror(registerPlace)},
		{"GET /jobs/{job}/export", Order, ofMirror(exportJob)},
		{"GET /find", Read, findPage},
		{"POST /find", Operate, beginFind},
		{"GET /replicas", Read, replicasPage},
		{"GET /spaces", Read, spacesPage},
		{"GET /settings", Operate, settingsPage},
		{"POST /settings", Operate, saveSettings},
		{"GET /users", Operate, usersPage},
		{"POST /users/logout", Operate, logoutUser},
		{"GET /about", Read, aboutPage},
		{"GET /audit", Operate, auditPage},
		{"GET /login", Nobody, loginPage},
		{"POST /login", Nobody, passwordLogin},
		{"GET /login/oidc", Nobody, beginOIDC},
		{"GET " + access.OIDCCallback, Nobody, endOIDC},
		{"GET /password", Nobody, passwordPage},
		{"POST /password", Nobody, changePassword},
		{"POST /logout", Nobody, logout},
		{"/", Nobody, noPage},
	}
}

// noPage refuses a path that there is not, or not with this method.
func noPage(v *visit) error { return cmp.Or(control.WrongMethod(v.mux, v.r), errNoPage) }

// guarded checks the login and the role before a route.
func (s *Server) guarded(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who := s.account(r)
		v := &visit{
			Server: s,
			w:      w,
			r:      r,
			who:    who,
			job:    r.PathValue("job"),
		}
		if who.Role > Nobody {
			access.BodyTime(w, r, access.AfterLogin)
		}
		err := formOf(r)
		switch {
		case err != nil:
		case rt.need > Nobody && who.Role == Nobody && fromElsewhere(r):
			err = v.draw(http.StatusOK, "continue.html", "Continue", r.URL.RequestURI())
		case rt.need > Nobody && who.Role == Nobody:
			err = errLogin
		case who.Role < rt.need:
			err = errRole
			s.audit(r, who, act{what: r.Method + " " + r.URL.Path, job: v.job}, err)
		case s.o.Texts == nil && (r.URL.Path == "/find" || r.URL.Path == "/replicas"):
			err = errNoPage
		case s.o.Orders == nil && strings.Contains(rt.pattern, " /order"):
			err = errNoPage
		case access.GuestOf(r) != nil && !passable(rt.pattern):
			err = errNoPage
		case v.job != "" && !job.ValidName(v.job):
			err = errNoPage
		default:
			err = rt.handle(v)
		}
		if err != nil {
			s.fail(w, r, who, err)
		}
	}
}

// fromElsewhere reports whether a link or bookmark of another site led here: browsers send no strict cookie
// then. Whoever goes on from our own page sends it.
func fromElsewhere(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

// formOf reads the form of a request. One that is too large, or broken, does nothing.
func formOf(r *http.Request) error {
	err := r.ParseForm()
	if _, large := errors.AsType[*http.MaxBytesError](err); err != nil && !large {
		return errForm
	}
	return err
}

// account is whoever makes a request: for whom another node passes it on, else a user of the proxy, else of a
// session, else a feed reader; the zero value is nobody.
func (s *Server) account(r *http.Request) account {
	if g := access.GuestOf(r); g != nil {
		return account{g.Name, g.Role, g.Via}
	}
	if s.o.Proxy.From.Trust(r.RemoteAddr) {
		if who, ok := s.o.Proxy.account(r.Header.Values(s.o.Proxy.Header)); ok {
			return who
		}
	}
	if c, err := r.Cookie(cookieName(r)); err == nil {
		who, ok := s.bySession(c.Value)
		if !ok && s.o.Exchange != nil && s.asking.Allow(s.o.Proxy.From.Client(r), s.o.Now()) {
			s.share(r) // the login, or a new password, may be known to another node only
			who, ok = s.bySession(c.Value)
		}
		if ok {
			return who
		}
	}
	return s.feedReader(r)
}

// share lets the other nodes of a cluster have what was changed here of users and sessions, and brings what
// was changed there. What is read next is what is stored.
func (s *Server) share(r *http.Request) {
	s.logins.share(r.Context())
	if s.o.Passwords != nil {
		s.o.Passwords.Book.Forget()
	}
}

// bySession is whose a token is.
func (s *Server) bySession(token string) (who account, ok bool) {
	f, ok := s.logins.session(token)
	if ok {
		who = s.accountNow(f)
	}
	return who, ok && who.Role > Nobody
}

// cookieName has the port in it: browsers send the cookies of a host to all of its ports.
func cookieName(r *http.Request) string {
	_, port, _ := strings.Cut(r.Host[strings.LastIndexByte(r.Host, ']')+1:], ":")
	return "mirrord-console-" + port
}

// act is what somebody did.
type act struct {
	what  string
	job   string
	about string
}

// audit appends to the audit log.
func (s *Server) audit(r *http.Request, who account, a act, err error) {
	e := store.AuditEntry{
		At:    s.o.Now().UTC(),
		Who:   who.Name,
		From:  r.RemoteAddr,
		What:  access.Clip(a.what),
		Job:   a.job,
		About: access.Clip(a.about),
	}
	if err != nil {
		e.Error = access.Clip(err.Error())
	}
	access.Record(s.o.Log, "console", s.o.Facts, e)
}

// done records an act and leads to a page.
func (v *visit) done(a act, err error, to string) error {
	a.job = v.job
	v.audit(v.r, v.who, a, err)
	v.fresh.drop()
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// jobPath is the address of a page of a job.
func jobPath(name, page string) string {
	return strings.TrimSuffix("/jobs/"+url.PathEscape(name)+"/"+page, "/")
}

// Errors of requests.
var (
	errNoPage      = errors.New("there is no such page")
	errLogin       = errors.New("log in first")
	errRole        = errors.New("your role does not allow that")
	errCrossOrigin = errors.New("the form came from another site, or the browser does not say from where")
	errForm        = errors.New("the form cannot be read")
	errLink        = errors.New("this link was used already, is too old, or wrong")
	errTries       = errors.New("too many attempts to log in; wait a minute")
	errClear       = errors.New("passwords are taken over TLS only, or through the proxy")
	errPassword    = errors.New("the name or the password is wrong, or an initial password is too old")
)

// loginPage takes the link of mirrord open. GET changes something here: whoever has the key may log in, and
// nobody else can make one.
func loginPage(v *visit) error {
	key := v.r.FormValue("key")
	switch {
	case v.r.Method == http.MethodHead: // whoever only looks at a link does not use it up
		return nil
	case key == "" && v.who.Role > Nobody:
		http.Redirect(v.w, v.r, "/", http.StatusSeeOther)
		return nil
	case key == "":
		return errLogin
	}
	session, who, ok, slow := v.logins.use(key, hostOf(v.r.RemoteAddr))
	switch {
	case slow:
		return errTries // not in the log, which would be full of it
	case !ok:
		v.audit(v.r, v.who, act{what: "login"}, errLink)
		return errLink
	}
	v.loggedIn(who, session)
	http.Redirect(v.w, v.r, "/", http.StatusSeeOther)
	return nil
}

// loggedIn gives the browser a session, in the place of the one that it has.
func (v *visit) loggedIn(who account, session string) {
	v.audit(v.r, who, act{what: "login", about: "as " + who.Role.String()}, nil)
	if old, err := v.r.Cookie(cookieName(v.r)); err == nil {
		v.logins.end(old.Value)
	}
	v.share(v.r) // the next request may come to another node
	v.setCookie(session, int(sessionFor.Seconds()))
}

func (v *visit) setCookie(value string, maxAge int) {
	http.SetCookie(v.w, &http.Cookie{
		Name:     cookieName(v.r),
		Value:    value,
		Path:     "/",
		MaxAge:   maxAge,
		HttpOnly: true,
		Secure:   overTLS(v.r),
		SameSite: http.SameSiteStrictMode,
	})
}

// overTLS reports whether the browser speaks TLS: with us, or with a proxy that says so. Who lies in that
// header does it to his own cookie.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// logout ends the session.
func logout(v *visit) error {
	if c, err := v.r.Cookie(cookieName(v.r)); err == nil {
		v.logins.end(c.Value)
		v.share(v.r)
		v.setCookie("", -1)
	}
	if v.who.Role > Nobody {
		v.audit(v.r, v.who, act{what: "logout"}, nil)
	}
	http.Redirect(v.w, v.r, "/login", http.StatusSeeOther)
	return nil
}
