// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mirrord/evolution/policy"
	"mirrord/mirror/publish"
	"mirrord/mirror/result"
	"mirrord/mirror/verdict"
	"mirrord/site"
	"mirrord/store/record"
	"mirrord/testing/processtest"
)

// harm changes a byte in the middle of the stored document of a path.
func (b bench) harm(path string) {
	b.T.Helper()
	at := b.Record(path).At
	name := filepath.Join(b.Store.Dir, "packs", fmt.Sprintf("%06d.pack", at.Pack))
	data, err := os.ReadFile(name)
	if err != nil {
		b.T.Fatal(err)
	}
	data[at.Off+int64(at.Len)/2] ^= 4
	if err := os.WriteFile(name, data, 0o600); err != nil {
		b.T.Fatal(err)
	}
}

// noted are the URLs whose bodies are known to be damaged.
func (b bench) noted() string {
	b.T.Helper()
	list, err := b.Store.Notes.Damaged()
	if err != nil {
		b.T.Fatal(err)
	}
	return strings.ReplaceAll(strings.Join(list, " "), home, "")
}

// A run that cannot be published for a damaged body is partial, and the next one requests that body; what the
// site did not give in this run leaves the mirror, but for entry points.
func TestHeal(t *testing.T) {
	for _, x := range []struct {
		name    string
		paths   []string
		refused bool // the site was asked for them in this run, and gave nothing
		left    []string
		reasons int
	}{
		{"requested again", []string{"/p0"}, false, nil, 1},
		{"refused", []string{"/p0"}, true, []string{"/p0"}, 1},
		{"refused with the entry point", []string{"/", "/p0"}, true, []string{"/p0"}, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bench{processtest.NewRunBench(t, "", processtest.Pages(2))}
				b.complete()
				c, _ := b.begin(nil)
				ids := b.ids(x.paths...)
				err := c.amend(ids, func(r *record.Resource) {
					if publish.LoseBody(r); x.refused {
						r.Run, r.Reason = c.Run.Number, "status 500"
					}
				})
				if err = errors.Join(err, c.Site.Records.Fold(c.folding())); err != nil {
					t.Fatal(err)
				}
				j := new(verdict.Judgement)
				if err := c.heal(j, &publish.BodiesError{IDs: ids, First: errors.New("it is damaged")}); err != nil {
					t.Fatal(err)
				}
				if j.Verdict != result.Partial || len(j.Reasons) != x.reasons || !has(j.Reasons, "it is damaged") {
					t.Errorf("%v %q", j.Verdict, j.Reasons)
				}
				if want := strings.Join(x.paths, " "); b.noted() != want {
					t.Errorf("noted are %q, want %q", b.noted(), want)
				}
				for _, p := range []string{"/", "/p0", "/p1"} {
					if r := b.Record(p); r.InSet == slices.Contains(x.left, p) {
						t.Errorf("%s is in the mirror: %t", p, r.InSet)
					}
				}
				if other := errors.New("another"); c.heal(j, other) != other {
					t.Error("another error is not the caller's")
				}
			})
		})
	}
}

// A body that was found damaged is repaired from the published file, or requested by the next run.
func TestRequestDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies := processtest.Pages(3)
		replies["/p1"] += " <a href=" + home + "/p2>two</a>" // published with another link: no copy
		b := bench{processtest.NewRunBench(t, "", replies)}
		b.complete()
		for _, p := range []string{"/p0", "/p1"} {
			b.harm(p)
		}
		if err := b.Store.Notes.NoteDamaged([]string{home + "/p0", home + "/p1"}); err != nil {
			t.Fatal(err)
		}
		c, _ := b.begin(nil)
		c.Run.Retrieved = true
		if err := c.RequestDamaged(t.Context()); err != nil {
			t.Fatal(err)
		}
		for p, lost := range map[string]bool{"/p0": false, "/p1": true, "/p2": false} {
			if r := b.Record(p); (r.Outcome == site.Failed) != lost {
				t.Errorf("%s: %+v", p, r)
			}
		}
		if u, err := b.Store.Notes.Run(); err != nil || u.Retrieved {
			t.Errorf("nothing is requested: %+v, %v", u, err)
		}
		b.Requests()
		e := b.run(nil)
		if got := fmt.Sprint(b.Requests()); e.j.Verdict != result.Complete || !strings.Contains(got, home+"/p1") {
			t.Errorf("%v %q, requested %s", e.j.Verdict, e.j.Reasons, got)
		}
		if b.noted() != "" {
			t.Errorf("noted are %q", b.noted())
		}
		if m, err := Site(t.Context(), b.State, b.Store, false); err != nil || len(m.Bodies)+len(m.Lost) > 0 {
			t.Errorf("left to repair: %+v, %v", m, err)
		}
	})
}

// Without a run, bodies without a copy are lost, and leave their versions when the caller wants it and no run
// is unfinished.
func TestSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies := processtest.Pages(3)
		replies["/p1"] += " <a href=" + home + "/p2>two</a>"
		b := bench{processtest.NewRunBench(t, "", replies)}
		b.complete()
		b.harm("/p1")
		if err := b.Store.Notes.NoteDamaged([]string{home + "/p1"}); err != nil {
			t.Fatal(err)
		}
		m, err := Site(t.Context(), b.State, b.Store, false)
		if err != nil || len(m.Lost) != 1 || m.Lost[0].URL != home+"/p1" || m.Dropped || b.noted() != "/p1" {
			t.Errorf("%+v, noted are %q, %v", m, b.noted(), err)
		}
		b.Session(nil)
		if m, err = Site(t.Context(), b.State, b.Store, true); err == nil || m.Dropped {
			t.Errorf("dropped under a run: %+v", m)
		}
		if err := b.Store.Notes.SetRun(nil); err != nil {
			t.Fatal(err)
		}
		m, err = Site(t.Context(), b.State, b.Store, true)
		if err != nil || !m.Dropped {
			t.Errorf("%+v, %v", m, err)
		}
		if r := b.Record("/p1"); r.InSet {
			t.Errorf("%+v", r)
		}
	})
}

// The report of a run says what damage of the tree was found and repaired, with a few names.
func TestSayDamage(t *testing.T) {
	b := bench{processtest.NewRunBench(t, "", nil)}
	c := New(b.Session(nil), nil)
	c.sayDamage(&publish.TreeDamage{
		Repaired: strings.Fields(strings.Repeat("a ", 20)),
		Wrong:    map[string]bool{"b": true},
		Lost:     errors.New("no table"),
	})
	notes, _ := c.Notes.List()
	text := fmt.Sprint(notes)
	for _, part := range []string{"a, and ", " more", "1 published file is damaged", "no table"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
}

// The report has what the plan skipped by reason, and the version that is published.
func TestSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{processtest.NewRunBench(t, "title = \"T\"", processtest.Pages(2))}
		e := b.run(nil)
		sum := e.Summary(e.j)
		if !sum.Published || sum.Version != 1 || sum.Entry != "index.html" || sum.Files != 3 ||
			!sum.Verified.IsZero() {
			t.Errorf("%+v", sum)
		}
		b.Answer("/p1", "500")
		e = b.run(nil)
		e.found.HasPlan, e.found.Skips = true, map[policy.Why]int64{1: 2, 2: 3}
		sum = e.Summary(e.j)
		if sum.Published || sum.Version != 1 || sum.Added != 0 || sum.Skipped != 5 || len(sum.Spared) != 2 ||
			sum.Verified.IsZero() {
			t.Errorf("%+v", sum)
		}
	})
}
