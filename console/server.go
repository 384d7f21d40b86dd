// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/app/nodes"
	"mirrord/app/orders"
	"mirrord/internal/places"
	"mirrord/serve"
	"mirrord/store/shared"
)

// Facts keeps sessions and the audit log; both outlive the process. shared.ConsoleFacts has it. Its methods
// may be called from several goroutines.
type Facts interface {
	AddAudit(shared.AuditEntry) error
	SaveSession(digest string, f *shared.SessionFact) error
	Sessions() (map[string]shared.SessionFact, error)
}

// Options are the choices of a console.
type Options struct {
	Daemon  nodes.Shown // required
	App     *env.App
	Facts   Facts            // required
	Proxy   Proxy            // that logs users in
	Orders  *orders.Orders   // nil: orders are not possible
	Texts   TextIndex        // nil: there are no pages Find and Replicas
	Hosts   []string         // names by which browsers reach it, besides localhost and addresses
	Mirrors string           // base URL of mirrord serve, for links into mirrors; "" shows none
	API     http.Handler     // answers below /v1/; nil: no API
	Others  nodes.OtherNodes // the other nodes of a cluster; nil: there are none
	// users with passwords; nil: there are none
	Passwords *Passwords
	OIDC      *access.OIDC // the provider that logs users in; nil: none
	// hands in the changes of users and sessions of this node, and fetches those of the other nodes of a
	// cluster; it does not wait for long. nil: there are none
	Exchange func(context.Context)
	Keep     time.Duration    // how old the list of all jobs may be
	Now      func() time.Time // default: time.Now
	Log      *slog.Logger     // default: discards all
}

// Server is the http.Handler of the console.
type Server struct {
	Options
	logins  *logins
	pages   *template.Template
	mux     *http.ServeMux
	cross   *http.CrossOriginProtection
	saving  sync.Mutex // keeps two people from writing job files at the same moment
	fresh   *freshStatus
	live    *streams
	clients *access.Limit // passwords, by address
	names   *access.Limit // passwords, by user
	asking  *access.Limit // other nodes for sessions that are unknown here, by address
	titles  *look.PageTitles
	exports *places.Seats
	// of new mirrors
	previews previews
	handler  http.Handler // all of it
}

// New makes a console. It opens no listener.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Mirrors = strings.TrimSuffix(o.Mirrors, "/")
	pages, err := parsePages()
	if err != nil {
		return nil, err
	}
	l, err := newLogins(o.Facts, o.Now, o.Exchange)
	if err != nil {
		return nil, err
	}
	l.prune()
	s := &Server{
		Options: o,
		logins:  l,
		pages:   pages,
		mux:     http.NewServeMux(),
		cross:   http.NewCrossOriginProtection(),
		fresh:   &freshStatus{daemon: o.Daemon, keep: o.Keep},
		live:    newStreams(),
		exports: places.New(mostExports, exportWait),
		titles:  new(look.PageTitles),

		clients: access.NewLimit(clientEvery, clientBurst),
		names:   access.NewLimit(nameEvery, nameBurst),
		asking:  access.NewLimit(askEvery, askBurst),
	}
	for _, r := range routes() {
		s.mux.HandleFunc(r.pattern, s.guarded(r))
	}
	if err := s.static(); err != nil {
		return nil, err
	}
	s.handler = serve.OwnHosts(o.Hosts, "console.hosts", http.HandlerFunc(s.serve))
	return s, nil
}

// CheckAddress refuses an address that others can reach while no user could log in from there.
// There, the console has TLS or is behind a proxy, so that no password goes over the network as it is.
func CheckAddress(address string, p Proxy, withTLS bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s is not an address such as 127.0.0.1:9181: %w", address, err)
	}
	ip := net.ParseIP(host)
	if host == "localhost" || (ip != nil && ip.IsLoopback()) || len(p.From) > 0 || withTLS {
		return nil
	}
	return fmt.Errorf("%s can be reached from other machines, and there is no login for them: "+
		"listen on 127.0.0.1, name the proxy that logs users in, or name a certificate", address)
}

// LoginLink makes a link that logs in once, for a console that is reached at a base URL.
func (s *Server) LoginLink(base, user string, role Role) (link string, expires time.Time) {
	token, expires := s.logins.link(user, role)
	return strings.TrimSuffix(base, "/") + "/login?key=" + token, expires
}

// SaveJob puts a new text of a job file in its place, one at a time.
func (s *Server) SaveJob(e jobs.JobEdit) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	return jobs.SaveEdit(s.App, e)
}

// Close ends the live parts of pages, which would hold their connections, and previews.
func (s *Server) Close() {
	s.live.stop()
	s.previews.work.Wait()
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Passed answers what other nodes of a cluster pass on, for whomever they say. They have checked the origin.
func (s *Server) Passed() http.Handler {
	return access.Door(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isolate(w.Header())
		s.route(w, r)
	}))
}

// route answers a request whose origin needs no check any longer.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if s.isForAPI(r) {
		s.API.ServeHTTP(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	s.mux.ServeHTTP(w, r)
}

func (s *Server) isForAPI(r *http.Request) bool {
	return s.API != nil && strings.HasPrefix(r.URL.Path, "/v1/")
}

// most is how many bytes the body of a request may have: a job file and its form.
const most = 1 << 20

// serve is what a request for one of our host names passes before its route.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	isolate(w.Header())
	access.BodyTime(w, r, access.BeforeLogin)
	// The API knows tokens only, which no page can make a browser send.
	if err := s.cross.Check(r); err != nil && !s.isForAPI(r) {
		s.audit(r, account{}, act{what: r.Method + " " + r.URL.Path}, errCrossOrigin)
		s.fail(w, r, account{}, errCrossOrigin)
		return
	}
	s.route(w, r)
}

// contentPolicy lets pages use our own files, and nothing else.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// isolate sets the headers of every answer.
func isolate(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// not no-referrer: forms of this origin would come with Origin: null, as those of strangers do
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Origin-Agent-Cluster", "?1")
	h.Set("Cache-Control", "no-store")
}
