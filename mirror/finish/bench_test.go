// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"mirrord/mirror/crawl"
	"mirrord/mirror/result"
	"mirrord/mirror/run"
	"mirrord/mirror/verdict"
	"mirrord/site"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/testing/processtest"
)

const home = processtest.Home

// bench is a job's site, which a table answers, and its stores. Its tests run in a bubble of synctest.
type bench struct{ *processtest.RunBench }

// begin is the closing of the next run with what the site has stored, before anything is requested.
func (b bench) begin(change func(*run.Options)) (*Closing, run.Retrieved) {
	b.T.Helper()
	s := b.Session(change)
	r, err := crawl.New(s)
	if err != nil {
		b.T.Fatal(err)
	}
	f, err := r.Load()
	if err != nil {
		b.T.Fatal(err)
	}
	return New(s, nil), f
}

// ended is a run that has ended.
type ended struct {
	*Closing
	j *verdict.Judgement
}

// run makes the next run of the site.
func (b bench) run(change func(*run.Options)) ended {
	b.T.Helper()
	s := b.Session(change)
	r, err := crawl.New(s)
	if err != nil {
		b.T.Fatal(err)
	}
	c := New(s, nil)
	if err := c.MendTree(b.T.Context()); err != nil {
		b.T.Fatal(err)
	}
	var f run.Retrieved
	if s.Options.NoFetch {
		f, err = r.Load()
	} else {
		err = c.RequestDamaged(b.T.Context())
		f = r.Retrieve(b.T.Context())
	}
	if err = errors.Join(err, f.Lost); err != nil {
		b.T.Fatal(err)
	}
	j, err := c.Judge(f)
	if err = errors.Join(err, c.Close(b.T.Context(), j)); err != nil {
		b.T.Fatal(err)
	}
	err = errors.Join(c.KeepHeld(j, int64(c.Table.Len())), c.GapsTold(j))
	if err != nil {
		b.T.Fatal(err)
	}
	return ended{Closing: c, j: j}
}

// complete makes the next run of the site, a day later, which publishes a version.
func (b bench) complete() ended {
	b.T.Helper()
	e := b.run(nil)
	if e.j.Verdict != result.Complete || e.published == nil {
		b.T.Fatalf("%v %q, published %+v", e.j.Verdict, e.j.Reasons, e.published)
	}
	time.Sleep(24 * time.Hour)
	return e
}

// accept publishes what was held back.
func accept(o *run.Options) { o.Accept, o.NoFetch = true, true }

// versions are the numbers of the kept versions.
func (b bench) versions() string {
	b.T.Helper()
	vs, err := b.Store.Versions.List()
	if err != nil {
		b.T.Fatal(err)
	}
	var out []int
	for i := range vs {
		out = append(out, vs[i].Number)
	}
	return fmt.Sprint(out)
}

// observed is what the last run observed.
func (b bench) observed() (last record.Observation) {
	b.T.Helper()
	err := b.Store.Records.Observations(func(o *record.Observation) error {
		last = *o
		return nil
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return last
}

// fact is the stored value of a fact.
func (b bench) fact(name string) string {
	b.T.Helper()
	v, err := b.Store.Notes.Fact(name)
	if err != nil {
		b.T.Fatal(err)
	}
	return string(v)
}

func (b bench) setFact(name, value string) {
	b.T.Helper()
	v := []byte(value)
	if value == "" {
		v = nil
	}
	if err := b.Store.Notes.SetFact(name, v); err != nil {
		b.T.Fatal(err)
	}
}

// ids are the numbers of paths of the site.
func (b bench) ids(paths ...string) (out []uint32) {
	b.T.Helper()
	for _, p := range paths {
		rec := b.Record(p)
		out = append(out, rec.ID)
	}
	return out
}

// keep stores records as the only ones of the site.
func (b bench) keep(known ...record.Resource) {
	b.T.Helper()
	var news []record.NewURL
	var done []*record.Done
	for i := range known {
		known[i].ID = uint32(i)
		news = append(news, record.NewURL{URL: known[i].URL.String()})
		done = append(done, &record.Done{Resource: known[i]})
	}
	err := b.Store.Records.Commit(0, news, done)
	if err == nil {
		err = b.Store.Records.Fold(facts.Folding{
			Version: 1,
			Path:    func(r *record.Resource) string { return r.Path },
			Pending: func(uint32) bool { return false },
		})
	}
	if err != nil {
		b.T.Fatal(err)
	}
}

// has reports whether one of some texts has a part.
func has(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) })
}

func canonical(path string) site.URL { return site.Canonical(processtest.URLOf(path)) }

// pathsOf are the paths of the files of the mirror.
func pathsOf(c *Closing) iter.Seq[string] {
	t := c.Table.Settled()
	return func(yield func(string) bool) {
		for id, s := range t.All() {
			if s.InSet() && !yield(t.Path(id)) {
				return
			}
		}
	}
}
