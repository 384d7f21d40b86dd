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
	if sum.Verdict != mirror.Complete || sum.Version != version || (sum.Held != nil) != held ||
		sum.FirstGone != 0 {
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
// accept publishes it. TestRejection of package finish has what makes it another one.
func TestARollbackHolds(t *testing.T) {
	r := newRolled(t)
	r.publishBoth()
	for i := range 3 {
		sum := r.run(fmt.Sprint("look ", i), 3, true)
		if h := *sum.Held; h.RolledBackTo != 1 || h.Rejected != 2 || sum.Asked == 0 {
			t.Errorf("%+v", sum)
		}
	}
	if sum := r.m.Accept(); sum.Version != 4 || !sum.Published || sum.Held != nil {
		t.Fatalf("%+v", sum)
	}
	r.run("after it", 4, false)
}

// A loss above max_delete that was accepted and rolled back is held for review again, not by the rollback.
func TestARollbackOfALoss(t *testing.T) {
	r := newRolled(t)
	all := ""
	for i := range 30 {
		all += fmt.Sprintf(`<a href="/%d.html">page %d</a> `, i, i)
		r.w.Set(fmt.Sprintf("%s/%d.html", rolledOrigin, i), mirrortest.HTML("page", fmt.Sprint("this is page ", i)))
	}
	r.w.Set(rolledOrigin+"/", mirrortest.HTML("site", all))
	r.run("first", 1, false)
	r.w.Set(rolledOrigin+"/", mirrortest.HTML("site", "nothing is left"))
	r.run("second", 2, false)
	r.back(1)
	r.m.Job.Limits.MaxDelete = 0.5
	if sum := r.m.Run(); sum.Verdict != mirror.Suspicious || sum.Version != 3 || sum.Held != nil {
		t.Fatalf("%+v", sum)
	}
}
