// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/app/daemon"
	"mirrord/app/replicas"
	"mirrord/app/shares"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store/shared"
)

// fakeDaemon has jobs and records its calls. Who changes it while pages are live holds its lock.
type fakeDaemon struct {
	mu     sync.Mutex
	jobs   []status.Job
	runs   []status.Run
	bad    []status.Run // the last ones of jobs that failed, before those of runs
	titles map[string]daemon.MirrorTitle
	did    []string
	facts  *fakeFacts
	away   []status.NodeSaid // whose acts are missing
	looks  int               // calls of Status
	asked  int               // titles that were read
}

func (d *fakeDaemon) Status() status.All {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looks++
	return status.All{Jobs: append([]status.Job{}, d.jobs...)}
}

func (d *fakeDaemon) Glance() status.All { return d.Status() }

func (d *fakeDaemon) Job(name string) (status.Job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.Name == name {
			return j, nil
		}
	}
	return status.Job{}, fmt.Errorf("no job %q: %w", name, control.ErrNotFound)
}

func (d *fakeDaemon) Progress(name string) (status.Job, error) { return d.Job(name) }

func (d *fakeDaemon) Runs(name string, most int) ([]status.Run, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if all := slices.Concat(d.bad, d.runs); j.Name == name && j.Health == status.Failed {
			return all[:min(len(all), most)], nil
		}
	}
	return d.runs, nil
}

func (d *fakeDaemon) Titles(names []string) map[string]daemon.MirrorTitle {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked += len(names)
	return d.titles
}

func (d *fakeDaemon) Acts(_ context.Context, n int) (shares.Acts, error) {
	return shares.Acts{Entries: d.facts.acts(n), Away: d.away}, nil
}

func (d *fakeDaemon) Cancel(name string) error { return d.do("cancel " + name) }

func (d *fakeDaemon) Pause(name string) error { return d.do("pause " + name) }

func (d *fakeDaemon) Resume(name string) error { return d.do("resume " + name) }

func (d *fakeDaemon) Alive() error { return nil }

func (d *fakeDaemon) Reload() (control.Reloaded, error) { return control.Reloaded{}, d.do("reload") }

func (d *fakeDaemon) NotifyTest(context.Context, string) ([]control.Told, error) {
	return nil, nil
}

func (d *fakeDaemon) Gather(context.Context) error { return nil }

func (d *fakeDaemon) Registry() (any, error) {
	return &replicas.Registry{}, nil
}

// Register refuses a place that is not declared good.
func (d *fakeDaemon) Register(_ context.Context, job, at string) (any, error) {
	if at != "https://good.test/" {
		return nil, fmt.Errorf("%s is not registered: mismatch: %w", at, control.ErrInvalid)
	}
	return nil, d.do("register " + job + " " + at)
}

func (d *fakeDaemon) do(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.did = append(d.did, what)
	return nil
}

func (d *fakeDaemon) Run(name string, r control.RunRequest) (control.Running, bool, error) {
	j, err := d.Job(name)
	if err != nil {
		return nil, false, err
	}
	more := strings.Join(append([]string{map[bool]string{true: " keep"}[r.Keep]}, r.Set...), " ")
	err = d.do(fmt.Sprintf("run %s accept=%v full=%v now=%v%s", name, r.Accept, r.Full, r.Now,
		strings.TrimRight(more, " ")))
	return nil, j.Activity == status.Running, err
}

// fakeFacts is kept in memory.
type fakeFacts struct {
	mu       sync.Mutex
	audit    []shared.AuditEntry
	sessions map[string]shared.SessionFact
}

func (f *fakeFacts) AddAudit(e shared.AuditEntry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.audit = append(f.audit, e)
	return nil
}

// acts is daemon.Daemon.Acts.
func (f *fakeFacts) acts(n int) (out []shared.AuditEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.audit) - 1; i >= 0 && len(out) < n; i-- {
		out = append(out, f.audit[i])
	}
	return out
}

func (f *fakeFacts) SaveSession(digest string, s *shared.SessionFact) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s == nil {
		delete(f.sessions, digest)
	} else {
		f.sessions[digest] = *s
	}
	return nil
}

func (f *fakeFacts) Sessions() (map[string]shared.SessionFact, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]shared.SessionFact{}
	for k, v := range f.sessions {
		out[k] = v
	}
	return out, nil
}

const testHost = "127.0.0.1:9181"

// browser is a user of a console. Requests go to its handler, one after the other.
type browser struct {
	testing.TB
	srv    *Server
	daemon *fakeDaemon
	facts  *fakeFacts
	now    time.Time
	cookie *http.Cookie
	change func(*http.Request) // of the next request
}

func newBrowser(t testing.TB, with func(*Options)) *browser {
	t.Helper()
	b := &browser{
		TB:    t,
		facts: &fakeFacts{sessions: map[string]shared.SessionFact{}},
		now:   time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}
	b.daemon = &fakeDaemon{facts: b.facts}
	b.start(with)
	return b
}

// start makes the server, as a start of the daemon does.
func (b *browser) start(with func(*Options)) {
	b.Helper()
	o := Options{Daemon: b.daemon, Facts: b.facts, Now: func() time.Time { return b.now }}
	if with != nil {
		with(&o)
	}
	srv, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	b.srv = srv
	b.Cleanup(srv.Close)
}

// do makes a request as a browser does; the form is sent with POST.
func (b *browser) do(path string, form url.Values) *httptest.ResponseRecorder {
	b.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://"+testHost+path, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, "http://"+testHost+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+testHost)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	r.RemoteAddr = "127.0.0.1:50000"
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	if b.change != nil {
		b.change(r)
		b.change = nil
	}
	w := httptest.NewRecorder()
	b.srv.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		b.cookie = c
	}
	return w
}

// want makes a request and checks status and text of the answer, which it returns.
func (b *browser) want(code int, text, path string, form url.Values) string {
	b.Helper()
	w := b.do(path, form)
	body := w.Body.String()
	if w.Code == http.StatusSeeOther {
		body = w.Header().Get("Location")
	}
	if w.Code != code || !strings.Contains(body, text) {
		b.Errorf("%s %v: %d, want %d with %q:\n%s", path, form, w.Code, code, text, body)
	}
	return body
}

// login uses a new link.
func (b *browser) login(role Role) {
	b.Helper()
	b.loginAs("ann", role)
}

func (b *browser) loginAs(name string, role Role) {
	b.Helper()
	link, _ := b.srv.LoginLink("http://"+testHost, name, role)
	b.want(http.StatusSeeOther, "/", strings.TrimPrefix(link, "http://"+testHost), nil)
	if b.cookie == nil {
		b.Fatal("no cookie came")
	}
}
