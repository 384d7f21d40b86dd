// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/fetch"
	"mirrord/scheduler/status"
)

// walk goes from one trouble, along the remedy that mirrord names, to where the trouble is gone.
type walk struct {
	*testing.T
	cause string // of package status, "" when another rule names the remedy
	name  string // of the job
	d     *testDaemon
	site  *httptest.Server
	serve atomic.Pointer[http.HandlerFunc]
	was   status.Job // as shown saw it last
}

// names is a network in which names below .test are at this machine, and no others are there.
type names struct{}

func (names) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	if strings.HasSuffix(host, ".test") {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func (names) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// newWalk starts a site of one page, and a daemon without jobs.
func newWalk(t *testing.T, cause string) *walk {
	t.Helper()
	return newWalkIn(t, cause, t.TempDir())
}

// newWalkIn is newWalk with a state directory.
func newWalkIn(t *testing.T, cause, state string) *walk {
	t.Helper()
	w := &walk{T: t, cause: cause, name: "walked"}
	w.answers(page)
	w.site = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		(*w.serve.Load())(rw, r)
	}))
	t.Cleanup(w.site.Close)
	w.d = startDaemonOn(t, fetch.Network(names{}), t.TempDir(), state, "--listen", "127.0.0.1:0")
	return w
}

// page answers every path but robots.txt with a page.
func page(rw http.ResponseWriter, r *http.Request) {
	noRobots(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, "<title>x</title><p>this is "+r.URL.Path)
	})(rw, r)
}

// noRobots answers every path but robots.txt.
func noRobots(h http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		h(rw, r)
	}
}

// robots answers as page does, beside these rules.
func robots(rules string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			page(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/plain")
		io.WriteString(rw, rules)
	}
}

func (w *walk) answers(h http.HandlerFunc) { w.serve.Store(&h) }

// job writes the job's file; the daemon reads it.
func (w *walk) job(url string, more ...string) {
	w.Helper()
	text := fmt.Sprintf("url = %q\nschedule = \"0 0 1 1 *\"\npolite.delay = \"0s\"\npolite.factor = 0\n"+
		"limits.retries = 0\nadaptive.learn_for = \"0s\"\n", url)
	put(w.T, w.d.jobs, w.name+".toml", text+strings.Join(more, "\n")+"\n")
}

// bySchedule checks that the trouble that was shown is not tried again before the schedule of the job.
func (w *walk) bySchedule() {
	w.Helper()
	if (w.was.Last == nil) || !w.was.Last.Lasting || (w.was.Why != "schedule") {
		w.Errorf("it is tried again: next run %s (%s)", w.was.NextText, w.was.Why)
	}
}

// do runs a command of mirrord as a remedy names it, and wants an exit code.
func (w *walk) do(code int, args ...string) string {
	w.Helper()
	var out bytes.Buffer
	got := run(w.Context(), cli.Environ{
		Stdin:     strings.NewReader(""),
		Stdout:    &out,
		Stderr:    &out,
		LookupEnv: vars(),
		Network:   names{},
	}, append(args, "--jobs", w.d.jobs, "--state", w.d.state))
	if got != code {
		w.Fatalf("mirrord %s: exit code %d, want %d:\n%s", strings.Join(args, " "), got, code, &out)
	}
	return out.String()
}

// run makes a run.
func (w *walk) run(code int) string {
	w.Helper()
	return w.do(code, "run-now", w.name)
}

// now is the job as the daemon has it.
func (w *walk) now() (j status.Job) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.do(cli.ExitOK, "status", w.name, "--json")), &j); err != nil {
		w.Fatal(err)
	}
	return j
}

// shown wants the remedy, with each of some texts, wherever a user may look for it.
func (w *walk) shown(texts ...string) string {
	w.Helper()
	w.was = w.now()
	fix := w.was.Fix
	for _, text := range texts {
		if !strings.Contains(fix, text) {
			w.Errorf("%q is not in the remedy %q of %q", text, fix, w.was.Reasons)
		}
	}
	if strings.Contains(fix, "mirrord status") || fix == "" {
		w.Errorf("remedy %q", fix)
	}
	if tr, _ := status.TroubleOf(strings.Join(w.was.Reasons, "\n")); tr.Cause != w.cause {
		w.Errorf("%q is treated as %q, want %q", w.was.Reasons, tr.Cause, w.cause)
	}
	if text := w.do(cli.ExitOK, "status", w.name); !strings.Contains(text, "  fix: "+fix+"\n") {
		w.Errorf("status does not say %q:\n%s", fix, text)
	}
	kind := status.Told{}.Tell(&w.was, time.Now())
	if kind == "" {
		kind = status.TellFailed
	}
	m := status.NewMessage(kind, "host", w.was, time.Now())
	if !strings.Contains(m.Text, "fix: "+fix+"\n") {
		w.Errorf("the message does not say %q:\n%s", fix, m.Text)
	}
	resp, err := http.Get(statusAddress(w.T, w.d) + "/")
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	if !strings.Contains(html.UnescapeString(string(body)), "Fix: "+fix) {
		w.Errorf("the page does not say %q:\n%s", fix, body)
	}
	return fix
}

// lasts wants a first run to end in one line with the remedy that is shown everywhere, twice, and no retry.
func (w *walk) lasts(texts ...string) {
	w.Helper()
	for range 2 {
		said := strings.TrimSpace(w.run(cli.ExitError))
		if first, rest, ok := strings.Cut(said, "\n"); ok && strings.HasSuffix(first, "this is it") {
			said = rest // the daemon's first run was under way
		}
		fix := w.shown(texts...)
		if strings.Contains(said, "\n") || !strings.HasSuffix(said, fix) {
			w.Errorf("run-now says %q, status %q", said, fix)
		}
		if w.was.Why != "schedule" || w.was.Last == nil || !w.was.Last.Lasting {
			w.Errorf("next run: %s, last %+v", w.was.Why, w.was.Last)
		}
	}
}

// gone wants a complete run and nothing more to do.
func (w *walk) gone() {
	w.Helper()
	w.run(cli.ExitOK)
	w.well()
}

// well wants nothing more to do.
func (w *walk) well() {
	w.Helper()
	if j := w.now(); j.Fix != "" || j.Health != status.OK {
		w.Errorf("still %s: %s; why: %q", j.Health, j.Fix, j.Reasons)
	}
}

// until makes runs until the job is as it is to be: something has to be looked at again, or has to pass.
func (w *walk) until(h status.Health) {
	w.Helper()
	for w.now().Health != h {
		if err := w.Context().Err(); err != nil {
			w.Fatal(err)
		}
		run(w.Context(), quiet(), []string{"run-now", w.name, "--jobs", w.d.jobs, "--state", w.d.state})
	}
}

// quiet is an environment whose output is discarded.
func quiet() cli.Environ {
	return cli.Environ{
		Stdin:     strings.NewReader(""),
		Stdout:    io.Discard,
		Stderr:    io.Discard,
		LookupEnv: vars(),
		Network:   names{},
	}
}

// secret writes a file with a password and returns its path as written in a job file.
func (w *walk) secret() string {
	w.Helper()
	path := w.file("secret")
	if err := os.WriteFile(path, []byte("word\n"), 0o600); err != nil {
		w.Fatal(err)
	}
	return strconv.Quote(path)
}

// file is a path of its own for the walk.
func (w *walk) file(name string) string { return filepath.Join(w.TempDir(), name) }
