// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/run"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

// RunBench is a job's site, which a table answers, with its stores in a temporary folder.
type RunBench struct {
	*Site
	Job   *job.Job
	State *store.State
	Store *store.Site
	T     *testing.T
}

// NewRunBench returns a bench for a job with further keys, one a line. A reply is that of Answer.
func NewRunBench(t *testing.T, keys string, replies map[string]string) *RunBench {
	t.Helper()
	b := &RunBench{Site: &Site{Answers: map[string]SiteReply{}}, T: t}
	for path, reply := range replies {
		b.Answer(path, reply)
	}
	var err error
	if b.Job, err = job.Parse("x", "x.toml", []byte("url = \""+Home+"/\"\n"+keys)); err != nil {
		t.Fatal(err)
	}
	if b.State, err = store.OpenState(t.TempDir(), store.Options{Volatile: true}); err != nil {
		t.Fatal(err)
	}
	if b.Store, err = b.State.OpenSite("x"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.Store.Close(), b.State.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Answer sets how the site answers for a path, or for a URL of another origin: "200 body", "302 target",
// "302c target" with a cookie, "404".
func (b *RunBench) Answer(path, reply string) {
	b.T.Helper()
	status, rest, _ := strings.Cut(reply, " ")
	a := SiteReply{MIME: "text/html", Body: rest}
	if _, err := fmt.Sscan(strings.TrimSuffix(status, "c"), &a.Status); err != nil {
		b.T.Fatal(reply, err)
	}
	a.Cookie = strings.HasSuffix(status, "c")
	if a.Status/100 == 3 {
		a.To, a.Body = rest, ""
	}
	b.Answers[URLOf(path)] = a
}

// Pages are the replies of a home page that links to so many others, /p0 and so on, each with words of its
// own.
func Pages(n int) map[string]string {
	out := map[string]string{}
	links := ""
	for i := range n {
		links += fmt.Sprintf("<a href=/p%d>%d</a> ", i, i)
		words := strings.Repeat(fmt.Sprint("word", i, " "), 20)
		out[fmt.Sprint("/p", i)] = fmt.Sprintf("200 <h1>Page %d</h1><p>%s", i, words)
	}
	out["/"] = "200 " + links
	return out
}

// URLOf returns the URL of a path of the site; other URLs stay as they are.
func URLOf(path string) string {
	if strings.HasPrefix(path, "/") {
		return Home + path
	}
	return path
}

// Session is the next run, before anything is requested. change may be nil.
func (b *RunBench) Session(change func(*run.Options)) *run.Session {
	b.T.Helper()
	o := run.Options{
		Job:     b.Job,
		State:   b.State,
		Site:    b.Store,
		Fetcher: b.Site,
		Robots:  b.Site,
		Hosts:   new(fetch.Hosts),
		Confirm: -1,
	}
	if change != nil {
		change(&o)
	}
	s, err := run.New(o)
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { s.Close() })
	if err := errors.Join(s.FindLive(), s.Begin()); err != nil {
		b.T.Fatal(err)
	}
	return s
}

// Record is the stored record of a path of the site.
func (b *RunBench) Record(path string) record.Resource {
	b.T.Helper()
	rec, ok, err := b.Store.Records.Get(site.Canonical(URLOf(path)))
	if err != nil || !ok {
		b.T.Errorf("%s: no record, %v", path, err)
	}
	return rec
}
