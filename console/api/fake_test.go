// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/replicas"
	"mirrord/app/search"
	"mirrord/app/shares"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/serve/find"
	"mirrord/store/shared"
)

// fakeDaemon has jobs and records its calls. Goroutines of a Server use it, too.
type fakeDaemon struct {
	jobs []status.Job // not changed while a Server runs

	mu      sync.Mutex
	did     []string
	running map[string]*fakeRun // that a request attaches to
	err     error               // of Run
}

// fakeRun ends when its channel is closed.
type fakeRun struct{ done chan struct{} }

func (r *fakeRun) Done() <-chan struct{} { return r.done }

func (r *fakeRun) Result() (status.Run, error) {
	return status.Run{Verdict: status.VerdictComplete, Published: true}, nil
}

func (d *fakeDaemon) note(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.did = append(d.did, what)
	return nil
}

func (d *fakeDaemon) done() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.did)
}

func (d *fakeDaemon) Status() status.All { return status.All{Jobs: slices.Clone(d.jobs)} }

func (d *fakeDaemon) Job(name string) (status.Job, error) {
	for _, j := range d.jobs {
		if j.Name == name {
			return j, nil
		}
	}
	return status.Job{}, fmt.Errorf("no job %q: %w", name, control.ErrNotFound)
}

func (d *fakeDaemon) Progress(name string) (status.Job, error) { return d.Job(name) }

func (d *fakeDaemon) Runs(name string, _ int) ([]status.Run, error) {
	_, err := d.Job(name)
	return []status.Run{fullRun()}, err
}

func (d *fakeDaemon) act(what, name string) error {
	if _, err := d.Job(name); err != nil {
		return err
	}
	return d.note(what + " " + name)
}

func (d *fakeDaemon) Cancel(name string) error { return d.act("cancel", name) }
func (d *fakeDaemon) Pause(name string) error  { return d.act("pause", name) }
func (d *fakeDaemon) Resume(name string) error { return d.act("resume", name) }
func (d *fakeDaemon) Alive() error             { return nil }

func (d *fakeDaemon) Reload() (control.Reloaded, error) {
	bad := status.Change{Kind: "refused", Job: "x", Problems: []string{"bad"}}
	list := []status.Change{bad}
	return control.Reloaded{Changes: list, Refused: list}, d.note("reload")
}

func (d *fakeDaemon) NotifyTest(context.Context, string) ([]control.Told, error) {
	return []control.Told{{To: "ann", Error: "no"}}, nil
}

func (d *fakeDaemon) Gather(context.Context) error { return nil }

func (d *fakeDaemon) Registry() (any, error) {
	return replicas.Registry{Mirrors: []replicas.RegistryMirror{}, Pairs: []shared.PairRecord{}}, nil
}

func (d *fakeDaemon) Register(_ context.Context, job, at string) (any, error) {
	if at != "https://good.test/" {
		return nil, fmt.Errorf("%s is not registered: mismatch: %w", at, control.ErrInvalid)
	}
	return shared.PairRecord{Base1: "https://docs.test/", Base2: at, Level: "1"}, d.act("register "+at, job)
}

func (d *fakeDaemon) Run(name string, r control.RunRequest) (control.Running, bool, error) {
	if err := d.act(fmt.Sprintf("run full=%v accept=%v", r.Full, r.Accept), name); err != nil {
		return nil, false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if run := d.running[name]; run != nil {
		return run, true, d.err
	}
	run := &fakeRun{make(chan struct{})}
	close(run.done)
	return run, false, d.err
}

// fakeFacts is kept in memory.
type fakeFacts struct {
	mu     sync.Mutex
	audit  []shared.AuditEntry
	tokens map[string]shared.TokenFact
	hooks  map[string]shared.HookFact
}

func (f *fakeFacts) AddAudit(e shared.AuditEntry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.audit = append(f.audit, e)
	return nil
}

// Acts is daemon.Daemon.Acts on node a of a cluster, whose node b is away.
func (f *fakeFacts) Acts(_ context.Context, n int) (out shares.Acts, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.audit) - 1; i >= 0 && len(out.Entries) < n; i-- {
		e := f.audit[i]
		e.Node = "a"
		out.Entries = append(out.Entries, e)
	}
	out.Away = []status.NodeSaid{{Name: "b", Away: "the node does not answer"}}
	return out, nil
}

func (f *fakeFacts) Tokens() (map[string]shared.TokenFact, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.tokens), nil
}

func (f *fakeFacts) Users() (map[string]shared.UserFact, error) { return nil, nil }

func (f *fakeFacts) Hooks() (map[string]shared.HookFact, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.hooks), nil
}

func (f *fakeFacts) ChangeHook(job string, change func(*shared.HookFact) (*shared.HookFact, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var was *shared.HookFact
	if h, ok := f.hooks[job]; ok {
		was = &h
	}
	now, err := change(was)
	if err == nil && now != nil {
		f.hooks[job] = *now
	}
	return err
}

// client calls a Server of its own, whose answers are checked against openapi.yaml.
type client struct {
	*testing.T
	srv    *Server
	daemon *fakeDaemon
	facts  *fakeFacts
	jobs   string // directory of the job files
	token  map[access.Role]string
	now    func() time.Time
	from   string // address of the client
	spec   *spec  // nil: answers are not checked
}

const docsFile = "url = \"https://docs.example/\"\ntitle = \"Docs\"\n"

func newClient(t *testing.T, now func() time.Time) *client {
	t.Helper()
	c := &client{
		T:      t,
		daemon: &fakeDaemon{jobs: []status.Job{fullJob("docs"), {Name: "wiki", Health: status.New}}},
		facts:  &fakeFacts{tokens: map[string]shared.TokenFact{}, hooks: map[string]shared.HookFact{}},
		jobs:   t.TempDir(),
		token:  map[access.Role]string{},
		now:    now,
		from:   "192.0.2.1:5000",
	}
	for _, role := range []access.Role{access.Read, access.Order, access.Operate} {
		c.token[role], c.facts.tokens[role.String()] = access.NewToken(role, now(), time.Time{})
	}
	c.put("docs", docsFile)
	state := t.TempDir()
	a := &env.App{
		State: func() (string, error) { return state, nil },
		Jobs:  c.jobs,
		Log:   slog.New(slog.DiscardHandler),
		Now:   now,
	}
	c.srv = New(Options{
		Texts:  fakeTexts{},
		Daemon: c.daemon,
		App:    a,
		Facts:  c.facts,
		Acts:   c.facts.Acts,
		Book:   access.NewBook(c.facts, now),
		Save:   func(e jobs.JobEdit) error { return jobs.SaveEdit(a, e) },
		Now:    now,
	})
	return c
}

// fakeTexts has one page, and says what was looked for.
type fakeTexts struct{}

func (fakeTexts) Find(_ context.Context, r search.FindRequest) (*search.FoundTexts, error) {
	switch r.Words {
	case "":
		return nil, env.Usagef("find: no words")
	case "early":
		return nil, fmt.Errorf("%w: mirrord find WORDS makes it", find.ErrNoIndex)
	}
	out := filled[search.FoundTexts]()
	out.Query = fmt.Sprintf("%+v", r)
	return &out, nil
}

func (c *client) put(job, text string) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.jobs, job+".toml"), []byte(text), 0o644); err != nil {
		c.Fatal(err)
	}
}

// do sends a request with a token, and checks the answer.
func (c *client) do(token, method, path, body string, headers ...string) *http.Response {
	c.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:9181"+path, strings.NewReader(body))
	r.RemoteAddr = c.from
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	kind := "application/json"
	if method == http.MethodPut {
		kind = "application/toml"
	}
	r.Header.Set("Content-Type", kind)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.srv.ServeHTTP(w, r)
	resp := w.Result()
	if c.spec != nil {
		c.spec.check(c.T, r, body, resp, w.Body.Bytes())
	}
	return resp
}

// want is do, and wants a status and a text in the answer.
func (c *client) want(code int, text, token, method, path, body string, headers ...string) string {
	c.Helper()
	resp := c.do(token, method, path, body, headers...)
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != code || !strings.Contains(string(got), text) {
		c.Errorf("%s %s: %d %v, want %d with %q:\n%s", method, path, resp.StatusCode, err, code, text, got)
	}
	return string(got)
}

// lastAct is the newest entry of the audit log.
func (c *client) lastAct() shared.AuditEntry {
	c.facts.mu.Lock()
	defer c.facts.mu.Unlock()
	if len(c.facts.audit) == 0 {
		return shared.AuditEntry{}
	}
	return c.facts.audit[len(c.facts.audit)-1]
}
