// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mirrord/mirror/result"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/store/record"
	"mirrord/testing/processtest"
)

// What the site answers decides whether a version is published, and what the next run does.
func TestVerdictOfARun(t *testing.T) {
	lost := func(n int) func(bench) {
		return func(b bench) {
			for i := range n {
				delete(b.Answers, fmt.Sprint(home, "/p", i))
			}
		}
	}
	reply := func(path, text string) func(bench) { return func(b bench) { b.Answer(path, text) } }
	for _, c := range []struct {
		name    string
		keys    string
		change  func(bench)
		options func(*run.Options)

		want      result.Verdict
		reason    string
		published bool
		next      string // value of revisit.FullFact
	}{
		{name: "nothing changed", change: func(bench) {}},
		{name: "a page changed", change: reply("/p1", "200 another text"), published: true},
		{name: "a page went", change: lost(1), published: true},
		{
			name:   "most pages went",
			change: lost(35),
			want:   result.Suspicious,
			reason: "limits.max_delete",
			next:   revisit.FullDoubtful,
		},
		{
			name:      "the job allows it",
			keys:      "limits.max_delete = \"100%\"",
			change:    lost(35),
			published: true,
		},
		{
			name:      "most pages went, and the run is accepted from the start",
			change:    lost(35),
			options:   func(o *run.Options) { o.Accept = true },
			published: true,
		},
		{
			name:   "the entry point fails",
			change: reply("/", "500"),
			want:   result.Gaps,
			reason: home,
		},
		{
			name:   "a page fails",
			change: reply("/p1", "500"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bench{processtest.NewRunBench(t, c.keys, processtest.Pages(40))}
				b.complete()
				c.change(b)
				e := b.run(c.options)
				if e.j.Verdict != c.want || !has(append(e.j.Reasons, ""), c.reason) {
					t.Errorf("%v %q", e.j.Verdict, e.j.Reasons)
				}
				if (e.published != nil) != c.published {
					t.Errorf("published %+v", e.published)
				}
				if got := b.fact(revisit.FullFact); got != c.next {
					t.Errorf("the next run requests everything: %q, want %q", got, c.next)
				}
				if u, err := b.Store.Notes.Run(); u != nil || err != nil {
					t.Errorf("the next run resumes %+v, %v", u, err)
				}
				suspicious := c.want == result.Suspicious
				if o := b.observed(); o.Complete == suspicious || o.Doubtful != suspicious {
					t.Errorf("observed %+v", o)
				}
			})
		})
	}
}

// A run that ended early is partial, and the next one resumes it; of one that was too old to continue, what
// the plan had not reached is left.
func TestJudgeOfWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{processtest.NewRunBench(t, "", processtest.Pages(3))}
		b.complete()
		c, f := b.begin(nil)
		f.Ended = errors.New("the disk is full")
		j, err := c.Judge(f)
		if err != nil || j.Verdict != result.Partial || !has(j.Reasons, "the disk is full") {
			t.Errorf("%v %q, %v", j.Verdict, j.Reasons, err)
		}
		if err := c.Close(t.Context(), j); err != nil || c.published != nil {
			t.Errorf("%+v, %v", c.published, err)
		}
		if u, err := b.Store.Notes.Run(); err != nil || u == nil || u.Retrieved {
			t.Errorf("the next run resumes %+v, %v", u, err)
		}
		c, f = b.begin(accept)
		if j, err := c.Judge(f); err != nil || j.Verdict != result.Complete || j.Left != 0 {
			t.Errorf("without requests: %+v, %v", j, err)
		}
	})
}

// What rules conclude is executed: pages leave, are requested without validators, and facts are stored.
func TestCarryOut(t *testing.T) { synctest.Test(t, carryOut) }

func carryOut(t *testing.T) {
	b := bench{processtest.NewRunBench(t, "", processtest.Pages(4))}
	b.complete()
	b.setFact(verdict.RejectedFact, "x")
	c, _ := b.begin(nil)
	ids := b.ids("/p0", "/p1", "/p2")
	etag := func(rec string) string { r := b.Record(rec); return r.ETag }
	if err := c.amend(ids, func(r *record.Resource) { r.ETag = "e" }); err != nil {
		t.Fatal(err)
	}
	if err := c.Site.Records.Fold(c.folding()); err != nil {
		t.Fatal(err)
	}
	cuts := urls.Cuts{{URL: home + "/p1", By: result.CutNoFollow}}
	err := c.carryOut([]verdict.Ruling{
		{
			Leave: ids[:1],
			Why:   "it is a trap",
			Notes: []verdict.Remark{{What: "a sentence"}, {What: "pages are counted", URL: canonical("/p1")}},
		},
		{
			Forget:   ids[:2],
			Released: true,
			Orphans:  verdict.Orphans{ids[2]: 7},
			Missing:  &verdict.Missing{Untold: true},
			Cuts:     &cuts,
		},
	})
	if err = errors.Join(err, c.Site.Records.Fold(c.folding())); err != nil {
		t.Fatal(err)
	}
	if r := b.Record("/p0"); r.InSet || r.Reason != "it is a trap" {
		t.Errorf("%+v", r)
	}
	if c.Table.InSet(ids[0]) || !c.Table.InSet(ids[1]) {
		t.Error("the table and the records differ")
	}
	if etag("/p0") != "" || etag("/p1") != "" || etag("/p2") != "e" {
		t.Errorf("validators %q, %q, %q", etag("/p0"), etag("/p1"), etag("/p2"))
	}
	notes, _ := c.Notes.List()
	if len(notes) != 2 {
		t.Errorf("%+v", notes)
	}
	orphans, oerr := loadOrphans(b.Store.Notes, c.Table.Len(), c.Log)
	got, _, cerr := urls.ReadFact[urls.Cuts](b.Store.Notes, urls.CutsFact)
	if err := errors.Join(oerr, cerr); err != nil || len(orphans) != 1 || fmt.Sprint(got) != fmt.Sprint(cuts) {
		t.Errorf("%v, %v, %v", orphans, got, err)
	}
	if b.fact(verdict.RejectedFact) != "" || b.fact(verdict.GapsFact) == "" {
		t.Error("the facts are as before")
	}
	j := &verdict.Judgement{Verdict: result.Gaps, Gaps: result.GapReport{Grew: true}}
	for _, untold := range []bool{true, false} {
		m, err := verdict.DecodeMissing([]byte(b.fact(verdict.GapsFact)), c.Table.Len())
		if err != nil || m.Untold != untold {
			t.Errorf("%+v, %v; untold is to be %t", m, err, untold)
		}
		if err := c.GapsTold(j); err != nil {
			t.Fatal(err)
		}
	}
}

// A run that is held back notes which pages the next ones look at: entry points with the pages that these
// redirect to, and some of those that went. One that was published notes that nothing is held back.
func TestKeepHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies := processtest.Pages(40)
		replies["/start"] = replies["/"]
		replies["/"] = "302 /start"
		b := bench{processtest.NewRunBench(t, "", replies)}
		b.complete()
		for i := range 30 {
			delete(b.Answers, fmt.Sprint(home, "/p", i))
		}
		e := b.run(nil)
		s := b.Session(nil)
		if err := b.Store.Notes.SetRun(nil); err != nil {
			t.Fatal(err)
		}
		h, ok, err := s.Held()
		if err != nil || !ok || h.Entries != 2 || !slices.Equal(h.URLs[:2], []string{home + "/", home +
			"/start"}) ||
			len(h.URLs) != 7 || !slices.Equal(h.Reasons, e.j.Reasons) {
			t.Errorf("%t, %+v, %v", ok, h, err)
		}
		sum := e.HeldBack(&h, 5)
		if sum.Verdict != result.Suspicious || sum.Asked != 5 || len(sum.Reasons) != 1+len(h.Reasons) ||
			!strings.Contains(sum.Reasons[0], "5 were requested") {
			t.Errorf("%+v", sum)
		}
		if e = b.run(accept); e.published == nil || !e.published.Accepted {
			t.Errorf("%+v", e.published)
		}
		s = b.Session(nil)
		if _, ok, err := s.Held(); ok || err != nil {
			t.Errorf("held after it was accepted: %v", err)
		}
	})
}

// What leaves when a run is accepted is noted until then; a version that comes back loses nothing.
func TestLeavingOnAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{processtest.NewRunBench(t, "", processtest.Pages(3))}
		b.complete()
		want := b.ids("/p0", "/p2")
		if err := urls.KeepLeaving(b.Store.Notes, want); err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			change func(*run.Options)
			want   bool
		}{
			{nil, false},
			{accept, true},
			{func(o *run.Options) { o.NoFetch, o.Restores = true, 1 }, false},
		} {
			c, _ := b.begin(x.change)
			got, err := leavingOnAccept(c)
			if err != nil || (len(got) > 0) != x.want || x.want && (!got.Has(want[0]) || !got.Has(want[1])) {
				t.Errorf("%v, %v; want some: %t", got, err, x.want)
			}
		}
		if err := urls.KeepLeaving(b.Store.Notes, nil); err != nil || b.fact(urls.LeavingFact) != "" {
			t.Errorf("%q, %v", b.fact(urls.LeavingFact), err)
		}
	})
}

// What the job refuses is not missing.
func TestRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{processtest.NewRunBench(t,
			"scope = { kind = \"host\", exclude = [\"/out/**\"], not_types = [\"gz\"] }",
			processtest.Pages(1))}
		c, _ := b.begin(nil)
		for _, x := range []struct {
			path, mime string
			status     int
			want       bool
		}{
			{"/a.html", "text/html", 0, false},
			{"/out/a.html", "text/html", 200, true},
			{"http://other.example/", "text/html", 200, true},
			{"/a.gz", "application/gzip", 0, true},
			{"/a.gz", "application/gzip", 500, false},
		} {
			r := record.Resource{URL: canonical(x.path), MIME: x.mime, Status: x.status}
			if got := c.refuses(&r); got != x.want {
				t.Errorf("%+v: %t", x, got)
			}
		}
	})
}
