// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/run"
	"mirrord/site"
	"mirrord/store"
	"mirrord/testing/processtest"
)

const home = processtest.Home

// bench is a job's site, which a table answers, and its stores.
type bench struct {
	*processtest.Site
	t     *testing.T
	job   *job.Job
	state *store.State
	site  *store.Site
}

// newBench returns a bench for a job with further keys, one a line, in a bubble of synctest. A reply is that
// of bench.answer.
func newBench(t *testing.T, keys string, replies map[string]string) *bench {
	t.Helper()
	b := &bench{
		Site: &processtest.Site{Answers: map[string]processtest.SiteReply{}},
		t:    t,
	}
	for path, reply := range replies {
		b.answer(path, reply)
	}
	var err error
	if b.job, err = job.Parse("x", "x.toml", []byte("url = \""+home+"/\"\n"+keys)); err != nil {
		t.Fatal(err)
	}
	if b.state, err = store.OpenState(t.TempDir(), store.Options{Volatile: true}); err != nil {
		t.Fatal(err)
	}
	if b.site, err = b.state.OpenSite("x"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.site.Close(), b.state.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// answer sets how the site answers: "200 body", "302 target", "302c target" with a cookie, "404".
func (b *bench) answer(path, reply string) {
	status, rest, _ := strings.Cut(reply, " ")
	a := processtest.SiteReply{MIME: "text/html", Body: rest}
	if _, err := fmt.Sscan(strings.TrimSuffix(status, "c"), &a.Status); err != nil {
		b.t.Fatal(reply, err)
	}
	a.Cookie = strings.HasSuffix(status, "c")
	if a.Status/100 == 3 {
		a.To, a.Body = rest, ""
	}
	b.Answers[home+path] = a
}

// begin is the retrieval of the next run, before anything is requested.
func (b *bench) begin() *Retrieval {
	b.t.Helper()
	s, err := run.New(run.Options{
		Job:     b.job,
		State:   b.state,
		Site:    b.site,
		Fetcher: b.Site,
		Robots:  b.Site,
		Hosts:   new(fetch.Hosts),
		Confirm: -1,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { s.Close() })
	if err := errors.Join(s.FindLive(), s.Begin()); err != nil {
		b.t.Fatal(err)
	}
	r, err := New(s)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// loaded is the retrieval of the next run with what the site has stored.
func (b *bench) loaded() *loaded {
	b.t.Helper()
	l, err := b.begin().load()
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// run retrieves the site and makes what was found the records. It returns the retrieval and the paths that
// were requested, in order of their names.
func (b *bench) run() (*Retrieval, run.Retrieved, string) {
	b.t.Helper()
	r := b.begin()
	f := r.Retrieve(b.t.Context())
	if err := errors.Join(f.Ended, f.Lost); err != nil {
		b.t.Fatal(err)
	}
	var paths []string
	for _, u := range b.Requests() {
		paths = append(paths, strings.TrimPrefix(u, home))
	}
	slices.Sort(paths)
	err := b.site.Records.Fold(store.Folding{
		Version: r.Version,
		Pending: func(uint32) bool { return false },
		Path:    func(rec *store.Resource) string { return rec.Path },
	})
	if err = errors.Join(err, b.site.Notes.SetRun(nil)); err != nil {
		b.t.Fatal(err)
	}
	return r, f, strings.Join(paths, " ")
}

// record is the stored record of a path of the site.
func (b *bench) record(path string) store.Resource {
	b.t.Helper()
	rec, ok, err := b.site.Records.Get(site.Canonical(home + path))
	if err != nil || !ok {
		b.t.Errorf("%s: no record, %v", path, err)
	}
	return rec
}
