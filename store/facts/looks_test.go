// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"mirrord/fetch/heads"
	"mirrord/site"
	"mirrord/store/db"
	"mirrord/store/record"
)

// looking is a site whose records are also kept as a run would have written them without looks.
type looking struct {
	t     *testing.T
	s     *testSite
	seen  *Records // what single reads: those of the site, or of a view
	dir   string
	brief bool              // it is volatile
	now   []record.Resource // by number
	run   int
	clock int64
}

func newLooking(t *testing.T, pages int) *looking { return newLookingIn(t, pages, false) }

func newLookingIn(t *testing.T, pages int, brief bool) *looking {
	l := &looking{
		t:     t,
		dir:   t.TempDir(),
		brief: brief,
		clock: 1000,
	}
	l.open()
	var done []*record.Done
	for i := range pages {
		d := document(t, l.s, i, fmt.Sprintf("page %d", i))
		done = append(done, d)
		l.now = append(l.now, d.Resource)
	}
	commit(t, l.s, 0, newURLs(0, pages), done...)
	foldAll(t, l.s, 1)
	l.run = 1
	return l
}

func (l *looking) open() {
	l.s = openTest(l.t, l.dir, l.brief)
	l.seen = l.s.Records
}

func (l *looking) reopen() {
	l.s.close(l.t)
	l.open()
}

// unchanged is the result of a request that found a page as it is.
func (l *looking) unchanged(id int) *record.Done {
	r, ok, err := l.s.Records.Get(testURL(id))
	if err != nil || !ok {
		l.t.Fatal(ok, err)
	}
	r.Outcome, r.Status, r.Reason, r.Failures, r.Gone = site.Unchanged, http.StatusNotModified, "", 0, 0
	if id%3 == l.run%2 { // it is a site where some pages come again
		r.Status = http.StatusOK
	}
	r.Run, r.Checked = l.run, l.clock
	r.Observe(false)
	l.now[id] = r
	return &record.Done{Resource: r}
}

// failed is one of a request that got nothing: a record of its own.
func (l *looking) failed(id int) *record.Done {
	r, _, err := l.s.Records.Get(testURL(id))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Outcome, r.Reason, r.Run, r.Checked = site.Failed, "status 500", l.run, l.clock
	r.Failures++
	l.now[id] = r
	return &record.Done{Resource: r}
}

func (l *looking) commit(done ...*record.Done) {
	l.t.Helper()
	if err := l.s.Records.Commit(uint32(len(l.now)), nil, done); err != nil {
		l.t.Fatal(err)
	}
}

func (l *looking) fold() {
	l.t.Helper()
	foldAll(l.t, l.s, 2)
}

// equal holds the records to what they are to be: the times of looks are right to a minute.
func (l *looking) equal(name string, got []record.Resource) {
	l.t.Helper()
	if len(got) != len(l.now) {
		l.t.Fatalf("%s: %d records of %d", name, len(got), len(l.now))
	}
	for _, r := range got {
		want := l.now[r.ID]
		if late := want.Checked - r.Checked; late < 0 || late > 60 {
			l.t.Errorf("%s: page %d: checked at %d, it was at %d", name, r.ID, r.Checked, want.Checked)
		}
		r.Checked = want.Checked
		if !reflect.DeepEqual(r, want) {
			l.t.Errorf("%s: page %d:\n%+v, want\n%+v", name, r.ID, r, want)
		}
	}
}

func (l *looking) all() (got []record.Resource) {
	l.t.Helper()
	err := l.s.Records.Resources(func(r *record.Resource) error {
		got = append(got, *r)
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return got
}

func (l *looking) single() (got []record.Resource) {
	l.t.Helper()
	for i := range l.now {
		r, _, err := l.seen.Get(testURL(i))
		if err != nil {
			l.t.Fatal(err)
		}
		got = append(got, r)
	}
	return got
}

// several are the records, read together with one that is not there.
func (l *looking) several() []record.Resource {
	l.t.Helper()
	got := make([]record.Resource, len(l.now))
	urls := []site.URL{testURL(1_000_000)}
	for i := range l.now {
		urls = append(urls, testURL(i))
	}
	err := l.s.Records.Some(urls, func(n int, r *record.Resource) error {
		got[n-1] = *r // the first one has no look
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return got
}

// Records are what they would be if each look had been written into them, regardless of what comes between:
// failures, kills, views, some or all looks settled, a rebuild from the log.
func TestLooksAreRecords(t *testing.T) {
	for seed := range uint64(sized(4, 150)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		below := func(n int) int { return rng.IntN(n) }
		const pages = 24
		l := newLooking(t, pages)
		l.s.Records.FoldItems = 5
		for range 1 + below(12) {
			l.run++
			ids, failing := rng.Perm(pages)[:below(pages+1)], below(4)
			for len(ids) > 0 {
				l.clock += int64(below(90))
				var batch []*record.Done
				n := 1 + below(len(ids))
				for _, id := range ids[:n] {
					if failing > 0 {
						failing--
						batch = append(batch, l.failed(id))
						continue
					}
					batch = append(batch, l.unchanged(id))
				}
				l.commit(batch...)
				if ids = ids[n:]; below(3) == 0 {
					l.reopen()
					l.s.Records.FoldItems = 5
				}
			}
			l.seen = l.s.view()
			if failing == 0 {
				l.checkLooked("view")
			}
			l.seen = l.s.Records
			l.fold()
			l.equal("all", l.all())
			l.equal("single", l.single())
			l.equal("several", l.several())
			switch n := below(5); n {
			case 0, 1:
				must(t, l.s.Records.settle(n))
			case 2: // a kill left some settled
				list, lerr := l.s.Records.looks.all()
				must(t, errors.Join(lerr, l.s.Update("settle some", func(tx *db.Tx) error {
					_, err := changeRecords(tx, false, nil, 5,
						func(_ *db.Tx, _ bool, r *record.Resource) (bool, error) {
							return record.ApplyLooks(list, r), nil
						})
					return err
				})))
			}
			l.equal("settled", l.all())
		}
		l.s.close(t)
	}
}

// checkLooked compares what was looked at: who only reads sees it before it is folded.
func (l *looking) checkLooked(name string) {
	l.t.Helper()
	for _, r := range l.single() {
		want := l.now[r.ID]
		if want.Outcome == site.Unchanged && (r.Run != want.Run || r.Observed != want.Observed) {
			l.t.Errorf("%s: page %d is of run %d, looked at %d times; want %d, %d", name, r.ID, r.Run, r.Observed,
				want.Run, want.Observed)
		}
	}
}

// Runs that find nothing new do not make the database grow, and write no record.
func TestLooksAreSmall(t *testing.T) {
	t.Run("kept", func(t *testing.T) { looksAreSmall(t, newLooking(t, 1000)) })
	t.Run("one-off", func(t *testing.T) { looksAreSmall(t, newLookingIn(t, 300, true)) })
}

func looksAreSmall(t *testing.T, l *looking) {
	pages := len(l.now)
	size := func() int64 {
		var n int64
		l.s.DB.View(func(tx *db.Tx) error { n = tx.Size(); return nil })
		return n
	}
	var first int64
	for run := range 2 * (maxLooked + 16) {
		if run == maxLooked+16 {
			first = size()
		}
		l.run++
		var batch []*record.Done
		for i := range pages {
			batch = append(batch, l.unchanged(i))
			if len(batch) == 256 || i == pages-1 {
				l.commit(batch...)
				batch = nil
			}
		}
		l.fold()
		if err := l.s.Records.SettleLooks(); err != nil {
			t.Fatal(err)
		}
		list, err := l.s.Records.looks.all()
		if err != nil || len(list) > 2*(maxLooked+1) {
			t.Fatalf("%d looks are kept, %v", len(list), err)
		}
	}
	if now := size(); now > first+first/8 {
		t.Errorf("%d bytes, %d after half as many runs", now, first)
	}
	l.equal("all", l.all())
}

// A response that differs in anything is no look: another validator, another state, links that were read
// again, a second answer in one run.
func TestLookIsNothingElse(t *testing.T) {
	l := newLooking(t, 10)
	l.run = 2
	for name, change := range map[string]func(d *record.Done){
		"validator": func(d *record.Done) { d.ETag = `"2"` },
		"links":     func(d *record.Done) { d.Linked = true },
		"expires":   func(d *record.Done) { d.Expires = 99 },
		"evidence":  func(d *record.Done) { d.Evidence[0] = 1 },
		"requisite": func(d *record.Done) { d.Requis = true },
		"fetched":   func(d *record.Done) { d.Outcome = site.Fetched },
		"same run":  func(d *record.Done) { d.Run = 1 },
		"left":      func(d *record.Done) { d.InSet = false },
		"head":      func(d *record.Done) { d.HeadSum = 7 },
		"status":    func(d *record.Done) { d.Status = http.StatusNonAuthoritativeInfo },
	} {
		d := l.unchanged(3)
		change(d)
		rest, looks, err := l.s.Records.looks.split([]*record.Done{d})
		if len(rest) != 1 || len(looks) > 0 || err != nil {
			t.Errorf("%s: it is a look, %v", name, err)
		}
		l.s.Records.looks.written = nil
	}
	rest, looks, err := l.s.Records.looks.split([]*record.Done{l.unchanged(3)})
	if len(rest) > 0 || len(looks) != 1 || looks[0].IDs.Len() != 1 || err != nil {
		t.Errorf("no look, %v", err)
	}
	l.commit(l.failed(4))
	l.reopen()
	l.commit(l.unchanged(4))
	l.fold()
	l.now = l.now[:10]
	for _, r := range l.single() {
		if r.ID == 4 && (r.Outcome != site.Unchanged || r.Failures != 0) {
			t.Errorf("after a failure and a second request: %+v", r)
		}
	}
}

// The first answer without a body is a look as long as its head says nothing new, and so is a 304 where no
// head is stored. It is no look when the head is to change, or the one of a failure is to go.
func TestFirst304IsALook(t *testing.T) {
	const not = "HTTP/1.1 304 Not Modified\nServer: s\nDate: Sun, 22 Nov 2026 18:11:13 GMT\n"
	s := openTest(t, t.TempDir(), false)
	answered := func(id int, h *heads.Head) *record.Done {
		d := document(t, s, id, fmt.Sprint(id))
		d.Answer = h
		return d
	}
	failed := answered(1, headOf(t, plainHead))
	commit(t, s, 0, newURLs(0, 3), answered(0, headOf(t, plainHead)), failed, answered(2, nil))
	foldAll(t, s, 1)
	failed.Outcome, failed.Run, failed.Checked = site.Failed, 2, 2000
	failed.Answer = headOf(t, "HTTP/1.1 500 Internal Server Error\nServer: s\n")
	commit(t, s, 3, nil, failed)
	foldAll(t, s, 2)
	for _, c := range []struct {
		name, text string
		id         int
		look       bool
	}{
		{"the first 304", not, 0, true},
		{"another field", not + "Cache-Control: max-age=70\n", 0, false},
		{"the body again", strings.Replace(plainHead, "Fri, 20", "Sat, 21", 1), 0, true},
		{"the body with a field less", strings.Replace(plainHead, "Server: s\n", "", 1), 0, false},
		{"after a failure", not, 1, false},
		{"no head is stored", not, 2, true},
		{"the first head", plainHead, 2, false},
	} {
		r, _, err := s.Records.Get(testURL(c.id))
		if err != nil {
			t.Fatal(err)
		}
		r.Looked(&record.Look{Run: 3, Whole: !strings.HasPrefix(c.text, not), Time: 3000})
		r.Answer = headOf(t, c.text)
		s.Records.looks.written = nil
		rest, looks, err := s.Records.looks.split([]*record.Done{{Resource: r}})
		if got := len(looks) == 1; got != c.look || (len(rest) == 1) == c.look || err != nil {
			t.Errorf("%s: it is a look: %v, want %v, %v", c.name, got, c.look, err)
		}
	}
}

// A one-off mirror keeps no heads: a response without a body is a look, whichever fields it has.
func TestLookOfAOneOff(t *testing.T) {
	l := newLookingIn(t, 2, true)
	l.run = 2
	d := l.unchanged(1)
	d.Answer = headOf(t, "HTTP/1.1 304 Not Modified\nServer: another\n")
	rest, looks, err := l.s.Records.looks.split([]*record.Done{d})
	if len(rest) > 0 || len(looks) != 1 || err != nil {
		t.Errorf("no look, %v", err)
	}
}

// A rollback restores records that have had no look since: later runs looked at others.
func TestLooksAndRestore(t *testing.T) {
	l := newLooking(t, 2)
	l.run = 2
	changed := document(t, l.s, 0, "another page")
	changed.Run, changed.Changed = 2, 2
	l.commit(changed)
	l.fold()
	l.run = 3
	l.commit(l.unchanged(0), l.unchanged(1))
	l.fold()
	if err := VersionsOf(l.s.Records).Restore(1, 3); err != nil {
		t.Fatal(err)
	}
	got := l.single()
	if got[0].Run != 1 || got[0].Observed != 0 || got[1].Run != 3 || got[1].Observed != 1 {
		t.Errorf("%+v", got)
	}
}
