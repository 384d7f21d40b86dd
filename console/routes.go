// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"mirrord/app/access"
	"mirrord/app/ops"
	"mirrord/app/orders"
	"mirrord/job"
	"mirrord/scheduler/control"
	"mirrord/store/shared"
)

// visit is a request whose user may make it.
type visit struct {
	*Server
	w   http.ResponseWriter
	r   *http.Request
	who account
	op  ops.Operation // that the route belongs to
	job string        // of the path; "" without one
}

// route is an address of the console, and the operation that it belongs to, whose role it needs; "" is one
// that needs no login. An error that its handler returns becomes a page.
type route struct {
	pattern string
	op      string
	handle  func(v *visit) error
}

func routes() []route {
	return []route{
		{"GET /{$}", "status", listPage},
		{"GET /feed.atom", "status", allFeed},
		{"GET /jobs/{job}", "job", ofJob(jobPage)},
		{"GET /jobs/{job}/live", "job", lasting(liveJob)},
		{"GET /jobs/{job}/over", "job", overPage},
		{"GET /jobs/{job}/feed.atom", "versions", ofMirror(jobFeed)},
		{"GET /jobs/{job}/versions", "versions", ofMirror(versionsPage)},
		{"GET /jobs/{job}/diff", "diff", ofMirror(diffPage)},
		{"GET /jobs/{job}/view", "versions", ofMirror(viewPage)},
		{"GET /jobs/{job}/beside", "diff", ofMirror(besidePage)},
		{"GET /jobs/{job}/side", "diff", ofMirror(sidePage)},
		{"GET /jobs/{job}/step", "diff", ofMirror(stepPage)},
		{"GET /jobs/{job}/search", "find", ofMirror(searchPage)},
		{"GET /jobs/{job}/changes", "changes", ofMirror(ofJob(heatPage))},
		{"GET /jobs/{job}/explain", "explain", ofMirror(ofJob(explainPage))},
		{"GET /jobs/{job}/plan", "plan", ofMirror(ofJob(planPage))},
		{"POST /jobs/{job}/rollback", "rollback", ofMirror(doAct)},
		{"POST /jobs/{job}/run", "run", runJob},
		{"POST /jobs/{job}/accept", "accept", acceptHeld},
		{"POST /jobs/{job}/cancel", "cancel", doAct},
		{"POST /jobs/{job}/pause", "pause", doAct},
		{"POST /jobs/{job}/resume", "resume", doAct},
		{"GET /jobs/{job}/file", "readFile", ofJob(editPage)},
		{"POST /jobs/{job}/file", "changeFile", editJob},
		{"POST /jobs/{job}/notify", "notify", doAct},
		{"GET /jobs/{job}/rename", "rename", actPage},
		{"POST /jobs/{job}/rename", "rename", doAct},
		{"GET /jobs/{job}/remove", "removeJob", actPage},
		{"POST /jobs/{job}/remove", "removeJob", doAct},
		{"GET /jobs/{job}/forget", "forget", ofMirror(actPage)},
		{"POST /jobs/{job}/forget", "forget", ofMirror(doAct)},
		{"POST /chosen", "run", chosen},
		{"GET /new", "createJob", newPage},
		{"POST /new", "createJob", makeMirror},
		{"GET /order", "draftOrder", orderPage},
		{"POST /order", "draftOrder", draftOrder},
		{"GET /orders", "listOrders", ordersPage},
		{"GET /orders/{n}", "order", ofOrder(orders.ToShow, anOrder)},
		{"GET /orders/{n}/live", "order", lasting(ofOrder(orders.ToShow, liveOrder))},
		{"GET /orders/{n}/over", "order", overPage},
		{"POST /orders/{n}/place", "placeOrder", ofOrder(orders.ToAct, placeOrder)},
		{"POST /orders/{n}/cancel", "cancelOrder", ofOrder(orders.ToAct, cancelOrder)},
		{"POST /orders/{n}/judge", "judgeOrder", ofOrder(orders.ToAct, judgeOrder)},
		{"POST /orders/{n}/keep", "keepOrder", ofOrder(orders.ToAct, keepOrder)},
		{"GET /orders/{n}/files/{name}", "orderFile", ofOrder(orders.ToFetch, orderFile)},
		{"GET /jobs/{job}/gc", "gc", ofMirror(gcPage)},
		{"POST /jobs/{job}/gc", "gc", ofMirror(doAct)},
		{"GET /jobs/{job}/repair", "repair", ofMirror(repairPage)},
		{"POST /jobs/{job}/repair", "repair", ofMirror(repairMirror)},
		{"GET /jobs/{job}/equivalents", "register", ofMirror(equivalentsPage)},
		{"POST /jobs/{job}/equivalents", "register", ofMirror(doAct)},
		{"GET /jobs/{job}/export", "export", ofMirror(exportJob)},
		{"GET /find", "find", findPage},
		{"POST /find", "index", beginFind},
		{"GET /replicas", "replicas", replicasPage},
		{"GET /spaces", "spaces", spacesPage},
		{"GET /settings", "settings", settingsPage},
		{"POST /settings", "settings", saveSettings},
		{"GET /users", "users", usersPage},
		{"POST /users/logout", "logoutUser", logoutUser},
		{"GET /about", "status", aboutPage},
		{"GET /audit", "audit", auditPage},
		{"GET /help", "", helpPage},
		{"GET /help/{page}", "", helpPage},
		{"GET /login", "", loginPage},
		{"POST /login", "", passwordLogin},
		{"GET /login/oidc", "", beginOIDC},
		{"GET " + access.OIDCCallback, "", endOIDC},
		{"GET /password", "", passwordPage},
		{"POST /password", "", changePassword},
		{"POST /logout", "", logout},
		{"/", "", noPage},
	}
}

// noPage refuses a path that there is not, or not with this method.
func noPage(v *visit) error { return cmp.Or(control.WrongMethod(v.mux, v.r), errNoPage) }

// guarded checks the login and the role before a route.
func (s *Server) guarded(rt route) http.HandlerFunc {
	var op ops.Operation
	if rt.op != "" {
		op = ops.Named(rt.op)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		who := s.account(r)
		v := &visit{
			Server: s,
			w:      w,
			r:      r,
			who:    who,
			op:     op,
			job:    r.PathValue("job"),
		}
		if who.Role > Anonymous {
			access.BodyTime(w, r, access.AfterLogin)
		}
		err := formOf(r)
		switch {
		case err != nil:
		case op.Need > Anonymous && who.Role == Anonymous && fromElsewhere(r):
			err = v.show("continue.html", "Continue", r.URL.RequestURI())
		case op.Need > Anonymous && who.Role == Anonymous:
			err = errLogin
		case who.Role < op.Need:
			err = errRole
			s.audit(r, who, act{what: r.Method + " " + r.URL.Path, job: v.job}, err)
		case s.Texts == nil && (r.URL.Path == "/find" || r.URL.Path == "/replicas"):
			err = errNoPage
		case s.Orders == nil && strings.Contains(rt.pattern, " /order"):
			err = errNoPage
		case access.GuestOf(r) != nil && !access.Passable(rt.pattern):
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

// passOn has another node answer.
func (v *visit) passOn(node string) error {
	return access.PassOn(v.w, v.r, node, v.Others.To(node), access.Guest{
		Name: v.who.Name,
		Role: v.who.Role,
		Via:  v.who.via,
		From: v.r.RemoteAddr,
		Base: v.base(),
	})
}

// fromElsewhere reports whether a link or bookmark of another site led here: browsers send no strict cookie
// then. A user who continues from our own page sends it.
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

// account is the user who makes a request: for whom another node passes it on, else a user of the proxy, else
// of a session, else a feed reader; the zero value is anonymous.
func (s *Server) account(r *http.Request) account {
	if g := access.GuestOf(r); g != nil {
		return account{g.Name, g.Role, g.Via}
	}
	if s.Proxy.From.Trust(r.RemoteAddr) {
		if who, ok := s.Proxy.account(r.Header.Values(s.Proxy.Header)); ok {
			return who
		}
	}
	if c, err := r.Cookie(cookieName(r)); err == nil {
		who, ok := s.bySession(c.Value)
		if !ok && s.Exchange != nil && s.asking.Allow(s.Proxy.From.Client(r), s.Now()) {
			s.share(r) // the login, or a new password, may be known to another node only
			who, ok = s.bySession(c.Value)
		}
		if ok {
			return who
		}
	}
	return s.feedReader(r)
}

// share gives the other nodes of a cluster the changes of users and sessions of this one, and fetches theirs.
// Later reads see the stored state.
func (s *Server) share(r *http.Request) {
	s.logins.share(r.Context())
	if s.Passwords != nil {
		s.Passwords.Book.Forget()
	}
}

// bySession is whose a token is.
func (s *Server) bySession(token string) (who account, ok bool) {
	f, ok := s.logins.session(token)
	if ok {
		who = s.accountNow(f)
	}
	return who, ok && who.Role > Anonymous
}

// cookieName has the port in it: browsers send the cookies of a host to all of its ports.
func cookieName(r *http.Request) string {
	_, port, _ := strings.Cut(r.Host[strings.LastIndexByte(r.Host, ']')+1:], ":")
	return "mirrord-console-" + port
}

// act is what a user did.
type act struct {
	what  string // "": as the operation of the route is called
	job   string
	about string
}

// audit appends to the audit log.
func (s *Server) audit(r *http.Request, who account, a act, err error) {
	e := shared.AuditEntry{
		At:    s.Now().UTC(),
		Who:   who.Name,
		From:  r.RemoteAddr,
		What:  a.what,
		Job:   a.job,
		About: a.about,
	}
	access.Record(s.Log, "console", s.Facts, e, err)
}

// done records an act and redirects to a page, which says what has become of it.
func (v *visit) done(a act, err error, to string) error {
	a.job, a.what = v.job, cmp.Or(a.what, v.op.Act())
	v.audit(v.r, v.who, a, err)
	v.fresh.drop()
	if err != nil {
		return err
	}
	if v.op.Done != "" && !strings.Contains(to, "?") {
		to += "?said=" + v.op.Name
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

// loginPage takes the link of mirrord console. GET changes something here: a user with the key may log in,
// and only the daemon can make one.
func loginPage(v *visit) error {
	key := v.r.FormValue("key")
	switch {
	case v.r.Method == http.MethodHead: // a look at a link does not use it up
		return nil
	case key == "" && v.who.Role > Anonymous:
		http.Redirect(v.w, v.r, "/", http.StatusSeeOther)
		return nil
	case key == "":
		return errLogin
	}
	host, _, _ := net.SplitHostPort(v.r.RemoteAddr)
	session, who, ok, slow := v.logins.use(key, host)
	switch {
	case slow:
		return errTries // not in the log, which would be full of it
	case !ok:
		v.audit(v.r, v.who, act{what: "login"}, errLink)
		return errLink
	}
	v.loggedIn(who, session)
	if fromElsewhere(v.r) { // as of mirrord open; where a redirect leads browsers send no strict cookie
		return v.show("welcome.html", "Logged in", who.Name)
	}
	http.Redirect(v.w, v.r, "/", http.StatusSeeOther)
	return nil
}

// loggedIn gives the browser a session, instead of the one that it has.
func (v *visit) loggedIn(who account, session string) {
	v.audit(v.r, who, act{what: "login", about: "as " + who.Role.String()}, nil)
	if old, err := v.r.Cookie(cookieName(v.r)); err == nil {
		v.logins.end(old.Value)
	}
	v.share(v.r) // the next request may come to another node
	v.setCookie(session, int(sessionFor.Seconds()))
}

func (v *visit) setCookie(value string, maxAge int) {
	v.cookie(cookieName(v.r), value, "/", maxAge, http.SameSiteStrictMode)
}

// cookie sets a cookie that scripts cannot read. maxAge is in seconds; a negative one removes it. It is for
// TLS only where the browser speaks TLS: with us, or with a proxy that says so. A client that forges the
// header harms only its own cookie.
func (v *visit) cookie(name, value, path string, maxAge int, site http.SameSite) {
	http.SetCookie(v.w, &http.Cookie{
		Name:     name,
		Value:    value,
		Path:     path,
		MaxAge:   maxAge,
		HttpOnly: true,
		Secure:   v.r.TLS != nil || v.r.Header.Get("X-Forwarded-Proto") == "https",
		SameSite: site,
	})
}

// logout ends the session.
func logout(v *visit) error {
	if c, err := v.r.Cookie(cookieName(v.r)); err == nil {
		v.logins.end(c.Value)
		v.share(v.r)
		v.setCookie("", -1)
	}
	if v.who.Role > Anonymous {
		v.audit(v.r, v.who, act{what: "logout"}, nil)
	}
	http.Redirect(v.w, v.r, "/login", http.StatusSeeOther)
	return nil
}
