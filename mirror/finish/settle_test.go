// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/mirror/result"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/site"
	"mirrord/store/record"
	"mirrord/testing/processtest"
)

// Records change after retrieval where the site has one, and a run that published nothing leaves nothing
// that the next one relocates again.
func TestAmendAndCalm(t *testing.T) { synctest.Test(t, amendAndCalm) }

func amendAndCalm(t *testing.T) {
	b := bench{processtest.NewRunBench(t, "", processtest.Pages(3))}
	b.complete()
	c, _ := b.begin(nil)
	ids := b.ids("/p0", "/p1", "/p2")
	stranger, _ := urls.Enter(c.Table, []byte(home+"/no-record"), urls.Named)
	err := c.amend([]uint32{ids[0], stranger, ids[2]}, func(r *record.Resource) { r.Changed = c.Version })
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Site.Records.Fold(c.folding()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{2, 1, 2} {
		if r := b.Record(fmt.Sprint("/p", i)); r.Changed != want {
			t.Errorf("/p%d changed in version %d, want %d", i, r.Changed, want)
		}
	}
	c, _ = b.begin(nil)
	if s := c.Table.Settled().State(ids[0]); !s.Dirty() {
		t.Fatal("the change is not seen")
	}
	c.published = c.Live
	if err := c.calm(); err != nil {
		t.Fatal(err)
	}
	if r := b.Record("/p0"); r.Changed != 2 {
		t.Errorf("a run that published made it version %d", r.Changed)
	}
	c.published = nil
	if err := c.calm(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if r := b.Record(fmt.Sprint("/p", i)); r.Changed != 1 {
			t.Errorf("/p%d changed in version %d after all was calm", i, r.Changed)
		}
	}
}

// Accepting a suspicious run makes what it and those before it found the state of the site, as far as no
// other run came in between.
func TestBelieve(t *testing.T) {
	for _, x := range []struct {
		name              string
		doubtful          string // runs 1, 2, …: d is doubtful
		accept, published bool
		want              string
	}{
		{"accepted", "-dd-dd", true, true, "-dd---"},
		{"accepted, and nothing was published", "-dd", true, false, "-dd"},
		{"not accepted", "-dd", false, true, "-dd"},
		{"the run before was good", "dd-", true, true, "dd-"},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := bench{processtest.NewRunBench(t, "", nil)}
			c := New(b.Session(func(o *run.Options) { o.Accept = x.accept }), nil)
			for i, d := range x.doubtful {
				o := record.Observation{Run: i + 1, Version: 1, Doubtful: d == 'd'}
				o.Asked.Add(0)
				if err := b.Store.Records.AddObservation(&o); err != nil {
					t.Fatal(err)
				}
			}
			if c.Run.Number = len(x.doubtful) + 1; x.published {
				c.published = &record.Version{Number: 2}
			}
			if err := believe(c); err != nil {
				t.Fatal(err)
			}
			got := ""
			err := b.Store.Records.Observations(func(o *record.Observation) error {
				got += map[bool]string{true: "d", false: "-"}[o.Doubtful]
				return nil
			})
			if err != nil || got != x.want {
				t.Errorf("%s, want %s, %v", got, x.want, err)
			}
		})
	}
}

// The next run must request everything until one has done so, or a user has accepted the doubtful one.
func TestAllRequested(t *testing.T) {
	const always, doubtful = revisit.FullAlways, revisit.FullDoubtful
	for _, x := range []struct {
		name, before string
		options      run.Options
		want         string
	}{
		{name: "nothing to do"},
		{name: "it was requested", before: always},
		{name: "it was requested, though doubtful", before: doubtful},
		{name: "no request", before: always, options: run.Options{NoFetch: true}, want: always},
		{
			name:    "accepted",
			before:  doubtful,
			options: run.Options{NoFetch: true, Accept: true},
		},
		{
			name:    "accepted, but that is not why",
			before:  always,
			options: run.Options{NoFetch: true, Accept: true},
			want:    always,
		},
		{name: "imported", options: run.Options{Imports: true}, want: always},
	} {
		b := bench{processtest.NewRunBench(t, "", nil)}
		b.setFact(revisit.FullFact, x.before)
		c := New(b.Session(func(o *run.Options) {
			o.NoFetch, o.Accept, o.Imports = x.options.NoFetch, x.options.Accept, x.options.Imports
		}), nil)
		if err := c.allRequested(); err != nil || b.fact(revisit.FullFact) != x.want {
			t.Errorf("%s: %q, %v", x.name, b.fact(revisit.FullFact), err)
		}
	}
}

// A mirror is as stale as its oldest page, but for pages that failed often or left.
func TestVerifiedSince(t *testing.T) {
	page := func(path string, checked int64, change func(*record.Resource)) record.Resource {
		r := record.Resource{URL: canonical(path), Outcome: site.Fetched, InSet: true}
		if r.Checked = checked; change != nil {
			change(&r)
		}
		return r
	}
	for _, x := range []struct {
		known []record.Resource
		want  int64 // 0: the zero time
	}{
		{},
		{[]record.Resource{page("/a", 500, nil), page("/b", 300, nil)}, 300},
		{[]record.Resource{
			page("/a", 500, nil),
			page("/gone", 100, func(r *record.Resource) { r.InSet = false }),
			page("/broken", 100, func(r *record.Resource) { r.Failures = urls.LastingFailures }),
			page("/failed", 400, func(r *record.Resource) { r.Failures = urls.LastingFailures - 1 }),
			page("/never", 0, nil),
		}, 400},
		{[]record.Resource{page("/gone", 100, func(r *record.Resource) { r.InSet = false })}, 0},
	} {
		b := bench{processtest.NewRunBench(t, "", nil)}
		b.keep(x.known...)
		got, err := VerifiedSince(b.Store)
		want := time.Time{}
		if x.want != 0 {
			want = time.Unix(x.want, 0)
		}
		if err != nil || !got.Equal(want) {
			t.Errorf("%d records: %v, %v; want %v", len(x.known), got, err, want)
		}
	}
}

// The next run requests everything after a run whose result is in doubt, and does not resume it.
func TestStartOver(t *testing.T) {
	for _, x := range []struct {
		j    verdict.Judgement
		want string
	}{
		{verdict.Judgement{Verdict: result.Suspicious}, revisit.FullDoubtful},
		{verdict.Judgement{Verdict: result.Suspicious, Left: 1}, revisit.FullAlways},
		{verdict.Judgement{Restart: true}, revisit.FullAlways},
	} {
		b := bench{processtest.NewRunBench(t, "", nil)}
		c := New(b.Session(nil), nil)
		if err := c.startOver(&x.j); err != nil || b.fact(revisit.FullFact) != x.want {
			t.Errorf("%+v: %q, %v", x.j, b.fact(revisit.FullFact), err)
		}
		if u, err := b.Store.Notes.Run(); u != nil || err != nil {
			t.Errorf("%+v: the next run resumes %+v, %v", x.j, u, err)
		}
	}
}
