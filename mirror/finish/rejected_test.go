// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"fmt"
	"testing"
	"testing/synctest"

	"mirrord/mirror/result"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/verdict"
	"mirrord/testing/processtest"
)

// back publishes an older version again.
func (b bench) back(number int) ended {
	b.T.Helper()
	if _, err := Restore(b.T.Context(), b.State, b.Store, number); err != nil {
		b.T.Fatal(err)
	}
	e := b.run(func(o *run.Options) { o.NoFetch, o.Accept, o.Restores = true, true, number })
	if e.published == nil || e.published.Restores != number {
		b.T.Fatalf("%v %q, published %+v", e.j.Verdict, e.j.Reasons, e.published)
	}
	return e
}

// firstSite is a site as it was, and secondSite as it was rejected: a page changed, one came, one went.
func firstSite() map[string]string {
	return map[string]string{
		"/":    "200 <a href=/a>a</a> <a href=/b>b</a>",
		"/a":   "200 what a said",
		"/b":   "200 <a href=/old>old</a>",
		"/old": "200 an old page",
		"/new": "404",
	}
}

func secondSite() map[string]string {
	return map[string]string{
		"/":    "200 <a href=/a>a</a> <a href=/b>b</a>",
		"/a":   "200 buy here: <a href=/new>new</a>",
		"/b":   "200 nothing",
		"/old": "404",
		"/new": "200 a new page",
	}
}

func (b bench) serve(replies map[string]string) {
	for path, reply := range replies {
		b.Answer(path, reply)
	}
}

// rolledBack is a site of two versions, of which the first one was published again.
func rolledBack(t *testing.T, keys string) bench {
	t.Helper()
	b := bench{processtest.NewRunBench(t, "limits.max_delete = \"100%\"\n"+keys, firstSite())}
	b.complete()
	b.serve(secondSite())
	b.complete()
	b.back(1)
	return b
}

// A site that is as it was when its mirror was rolled back is held back, however often a run looks, until it
// is another one, or a user accepts it or restores what was rejected.
func TestRejection(t *testing.T) {
	reply := func(path, text string) func(bench) {
		return func(b bench) { b.Answer(path, text) }
	}
	for _, x := range []struct {
		name    string
		keys    string
		change  func(bench)
		options func(*run.Options)
		held    bool // the run that follows
		version int  // that is published then
		forgets bool // what was rejected
	}{
		{name: "as it was rejected", change: func(bench) {}, held: true, version: 3},
		{
			name:    "a page fails",
			change:  reply("/a", "500"),
			keys:    "limits.max_failures = \"100%\"",
			held:    true,
			version: 3,
		},
		{
			name:    "a page that came fails",
			change:  reply("/new", "500"),
			keys:    "limits.max_failures = \"100%\"",
			held:    true,
			version: 3,
		},
		{
			name: "other rules",
			change: func(b bench) {
				if err := b.Job.Set("scope.exclude", "**/new"); err != nil {
					b.T.Fatal(err)
				}
			},
			held:    true,
			version: 3,
		},
		{
			name: "the new page went",
			change: func(b bench) {
				b.Answer("/a", "200 what a says now")
				b.Answer("/new", "404")
			},
			version: 4,
			forgets: true,
		},
		{name: "accepted", change: func(bench) {}, options: accept, version: 4, forgets: true},
		{name: "another page changed", change: reply("/b", "200 something"), version: 4, forgets: true},
		{name: "the page changed again", change: reply("/a", "200 what a says now"), version: 4, forgets: true},
		{name: "as the version before", change: func(b bench) { b.serve(firstSite()) }, version: 3, forgets: true},
		{name: "what was rejected is back", change: func(b bench) { b.back(2) }, version: 4, forgets: true},
		{
			name: "of two that were rejected, the one before",
			change: func(b bench) {
				b.Answer("/b", "200 something")
				b.run(nil)
				b.back(2)
				b.back(1)
				b.serve(secondSite())
			},
			version: 6,
			held:    true,
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := rolledBack(t, x.keys)
				if e := b.run(nil); e.j.Rejection == nil || e.j.Verdict != result.Complete {
					t.Fatalf("before: %v %q, %+v", e.j.Verdict, e.j.Reasons, e.j.Rejection)
				}
				x.change(b)
				e := b.run(x.options)
				if (e.j.Rejection != nil) != x.held {
					t.Errorf("held: %+v", e.j.Rejection)
				}
				vs, err := b.Store.Versions.List()
				if err != nil || vs[len(vs)-1].Number != x.version {
					t.Errorf("version %d, want %d; %v %q, %v", vs[len(vs)-1].Number, x.version, e.j.Verdict,
						e.j.Reasons, err)
				}
				if got := b.fact(verdict.RejectedFact); (got == "") != x.forgets {
					t.Errorf("rejected: %q", got)
				}
			})
		})
	}
}

// What a run finds changed against a version that came back, and is as it was before, is no change of the
// site.
func TestLeaveRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := rolledBack(t, "")
		b.Answer("/b", "200 something")
		e := b.run(nil)
		ids, changed := b.ids("/a", "/b"), b.observed().Changed
		if e.published == nil || changed.Has(ids[0]) || !changed.Has(ids[1]) {
			t.Errorf("changed: %v, want %v of %v", changed, ids[1], ids)
		}
	})
}

// A page of which a part changes by itself is as it was; one that cannot be read is not.
func TestAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := func(path string, token int) string {
			return fmt.Sprintf(
				"200 what %s says, and says again, as long as it is read: <input name=token value=%016x>",
				path, uint64(token)*0x9e3779b97f4a7c15)
		}
		b := bench{processtest.NewRunBench(t, "limits.max_delete = \"100%\"", map[string]string{
			"/":  "200 <a href=/a>a</a> <a href=/b>b</a> <a href=/c>c</a>",
			"/a": page("a", 1),
			"/b": page("b", 1),
			"/c": page("c", 1),
		})}
		b.complete()
		b.Answer("/a", page("a", 2))
		b.Answer("/b", "200 another text")
		delete(b.Answers, home+"/c")
		e := b.complete()
		ids := b.ids("/a", "/b", "/c")
		same := alike(e.Session)
		for i, want := range []bool{true, false, false} {
			if got := same(ids[i], 1); got != want {
				t.Errorf("page %d: %t", i, got)
			}
		}
		if same(ids[0], 9) || same(1000, 1) {
			t.Error("what cannot be read is alike")
		}
	})
}

// A version comes back whole: an unfinished run is given up, and the next one requests everything.
func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{processtest.NewRunBench(t, "", firstSite())}
		b.complete()
		b.Answer("/a", "200 another text")
		b.complete()
		if _, err := Restore(t.Context(), b.State, b.Store, 7); err == nil {
			t.Error("a version that is not kept comes back")
		}
		b.Session(nil) // it is unfinished
		if _, err := Restore(t.Context(), b.State, b.Store, 1); err != nil {
			t.Fatal(err)
		}
		if u, err := b.Store.Notes.Run(); u != nil || err != nil {
			t.Errorf("the next run resumes %+v, %v", u, err)
		}
		if got := b.fact(revisit.FullFact); got != revisit.FullAlways || b.fact(restoreFact) != "" {
			t.Errorf("%q, %q", got, b.fact(restoreFact))
		}
		now, err := contentsOf(b.Store, 1)
		if r := b.Record("/a"); err != nil || verdict.ContentOf(&r) != now[r.ID] {
			t.Errorf("%+v, %v", r, err)
		}
		list, err := rollbacksOf(b.Session(nil))
		if err != nil || len(list) != 1 || list[0].Version != 3 || list[0].Restores != 1 {
			t.Errorf("%+v, %v", list, err)
		}
		b.setFact(verdict.RejectedFact, "{")
		if list, err := rollbacksOf(b.Session(nil)); err != nil || len(list) > 0 {
			t.Errorf("of a damaged list: %+v, %v", list, err)
		}
	})
}
