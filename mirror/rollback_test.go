// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

const rolledOrigin = "http://a.test"

// rolled is a site of two versions whose mirror was rolled back to the first one.
type rolled struct {
	t *testing.T
	w *mirrortest.Web
	m *mirrortest.Mirror
}

func newRolled(t *testing.T, lines ...string) *rolled {
	w := mirrortest.Start(t)
	m := mirrortest.New(t, w,
		"url = \""+rolledOrigin+"/\"\nlimits.max_delete = \"100%\"\n"+strings.Join(lines, "\n"))
	return &rolled{t: t, w: w, m: m}
}

// first is the site as it was.
func (r *rolled) first() {
	r.w.Clear()
	r.w.SetAll(rolledOrigin, map[string]mirrortest.Page{
		"/":         mirrortest.HTML("site", `<a href="/a.html">a</a> <a href="/b.html">b</a>`),
		"/a.html":   mirrortest.HTML("a", "what a said"),
		"/b.html":   mirrortest.HTML("b", `<a href="/old.html">old</a>`),
		"/old.html": mirrortest.HTML("old", "an old page"),
	})
}

// second is the site as it was rejected: a page is changed, one came, one went.
func (r *rolled) second() {
	r.first()
	r.w.SetAll(rolledOrigin, map[string]mirrortest.Page{
		"/a.html":   mirrortest.HTML("a", `buy here: <a href="/new.html">new</a>`),
		"/b.html":   mirrortest.HTML("b", "nothing"),
		"/new.html": mirrortest.HTML("new", "a new page"),
	})
	r.w.Remove(rolledOrigin + "/old.html")
}

func (r *rolled) back(number int) *mirror.Summary { return back(r.t, r.m, number) }

// back rolls a mirror back.
func back(t *testing.T, m *mirrortest.Mirror, number int) (sum *mirror.Summary) {
	t.Helper()
	withSite(t, m, func(st *store.State, s *store.Site) {
		var err error
		if sum, err = mirror.Rollback(t.Context(), mirror.Options{
			Job:   m.Job,
			State: st,
			Site:  s,
			Hosts: newHosts(),
		}, number); err != nil {
			t.Fatal(err)
		}
	})
	return sum
}

// run makes a run and compares what became of it.
func (r *rolled) run(what string, version int, held bool) *mirror.Summary {
	r.t.Helper()
	sum := r.m.Run()
	if sum.Verdict != mirror.Complete || sum.Version != version || (sum.Held != nil) != held {
		r.t.Fatalf("%s: version %d, held %v; want version %d, held %v\n%s", what, sum.Version, sum.Held, version,
			held, mirrortest.Text(sum))
	}
	return sum
}

// publishBoth mirrors both versions and rolls back to the first one.
func (r *rolled) publishBoth() {
	r.t.Helper()
	r.first()
	r.run("first", 1, false)
	r.second()
	r.run("second", 2, false)
	if sum := r.back(1); sum.Version != 3 || sum.RolledBackTo != 1 {
		r.t.Fatalf("%+v", sum)
	}
}

// A site that is as it was when its mirror was rolled back is not published again, however often a run looks;
// accept publishes it, and one that is another one is published as ever.
func TestARollbackHolds(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(r *rolled)
	}{
		{"accepted", func(r *rolled) {
			if sum := r.m.Accept(); sum.Version != 4 || !sum.Published || sum.Held != nil {
				r.t.Fatalf("%+v", sum)
			}
			r.run("after it", 4, false)
		}},
		{"another page changed", func(r *rolled) {
			r.w.Set(rolledOrigin+"/b.html", mirrortest.HTML("b", "something"))
			r.run("other", 4, false)
			r.run("after it", 4, false)
		}},
		{"the page changed again", func(r *rolled) {
			r.w.Set(rolledOrigin+"/a.html", mirrortest.HTML("a", "what a says now"))
			r.run("other", 4, false)
		}},
		{"as the version before", func(r *rolled) {
			r.first()
			r.run("nothing to publish", 3, false)
			r.second()
			r.run("it was another one meanwhile", 4, false)
		}},
		{"the new page went", func(r *rolled) {
			r.w.Set(rolledOrigin+"/a.html", mirrortest.HTML("a", "what a says now"))
			r.w.Remove(rolledOrigin + "/new.html")
			r.run("other", 4, false)
		}},
		{"back to what was rejected", func(r *rolled) {
			r.back(2)
			r.run("released", 4, false)
			r.w.Set(rolledOrigin+"/b.html", mirrortest.HTML("b", "something"))
			r.run("other", 5, false)
		}},
		{"rolled back twice", func(r *rolled) {
			r.w.Set(rolledOrigin+"/b.html", mirrortest.HTML("b", "something"))
			r.run("other", 4, false)
			if sum := r.back(2); sum.Version != 5 {
				r.t.Fatalf("%+v", sum)
			}
			r.run("the last one is rejected", 5, true)
			if sum := r.back(1); sum.Version != 6 {
				r.t.Fatalf("%+v", sum)
			}
			r.run("and stays so", 6, true)
			r.second()
			r.run("what was current meanwhile is rejected, too", 6, true)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRolled(t)
			r.publishBoth()
			for i := range 3 {
				sum := r.run(fmt.Sprint("look ", i), 3, true)
				if h := *sum.Held; h.RolledBackTo != 1 || h.Rejected != 2 || sum.Asked == 0 {
					t.Errorf("%+v", sum)
				}
			}
			c.then(r)
		})
	}
}

// What a run cannot find out does not make the site another one: a page that fails, one of which only new
// pages would tell, and one that is not confirmed to be gone.
func TestARollbackHoldsWhatIsNotSeen(t *testing.T) {
	r := newRolled(t, "limits.max_failures = \"100%\"")
	r.publishBoth()
	for _, page := range []string{"/a.html", "/b.html", "/new.html"} {
		r.w.Set(rolledOrigin+page, mirrortest.Status(500))
		if sum := r.m.Run(); sum.Published {
			t.Errorf("without %s: %s", page, mirrortest.Text(sum))
		}
		r.second()
		r.run("with "+page, 3, true)
	}
}

// A page of which some part changes by itself is as it was rejected.
func TestARollbackHoldsWhatChangesByItself(t *testing.T) {
	r := newRolled(t)
	token := func(n int) {
		r.w.Set(rolledOrigin+"/a.html", mirrortest.HTML("a", fmt.Sprintf(
			`buy here, buy now, as long as there is some: <a href="/new.html">new</a> <input name="token" value="%x">`,
			uint64(n)*0x9e3779b97f4a7c15)))
	}
	r.first()
	r.run("first", 1, false)
	r.second()
	token(1)
	r.run("second", 2, false)
	r.back(1)
	for n := 2; n < 5; n++ {
		token(n)
		r.run("another token", 3, true)
	}
	r.w.Set(rolledOrigin+"/a.html", mirrortest.HTML("a", "what a says now"))
	r.run("another text", 4, false)
}

// A job whose rules changed publishes by the new ones once the rollback holds no longer.
func TestARollbackHoldsWithNewRules(t *testing.T) {
	r := newRolled(t)
	r.publishBoth()
	r.run("held", 3, true)
	r.m.Set("scope.exclude", "**/new.html")
	r.run("held by other rules", 3, true)
	r.w.Set(rolledOrigin+"/b.html", mirrortest.HTML("b", "something"))
	r.run("other", 4, false)
}

// What a run finds changed only because a rollback had restored an older version is no change of the
// site.
func TestARollbackIsNoChangeOfTheSite(t *testing.T) {
	r := newRolled(t)
	r.publishBoth()
	r.w.Set(rolledOrigin+"/", mirrortest.HTML("site", `<a href="/a.html">a</a> <a href="/b.html">b</a> news`))
	r.m.Run()
	all := observations(t, r.m)
	last := all[len(all)-1]
	r.m.Site(func(s *store.Site) {
		if err := s.Records.Resources(func(rec *store.Resource) error {
			if want := rec.URL.Path() == "/"; last.Changed.Has(rec.ID) != want {
				t.Errorf("%s changed: %v, want %v", rec.URL, !want, want)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}
