// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/internal/count"
	"mirrord/mirror/result"
	"mirrord/site"
	"mirrord/store/record"
)

func TestStem(t *testing.T) {
	for _, same := range [][]string{
		{"http://h/a/foo.html", "https://h/a/foo.pdf", "http://h/a/foo", "http://h/a/foo/"},
		{"http://h/a/foo/", "http://h/a/foo/index.php"},
		{"http://h/", "http://h/index.html"},
		{"http://h/a.php?x=1", "http://h/a?x=1"},
		{"http://h/v1.2/", "http://h/v1.3/"}, // the last part may be an extension
	} {
		for _, u := range same[1:] {
			if a, b := stem(parse(t, same[0])), stem(parse(t, u)); a != b {
				t.Errorf("%s has stem %q, %s has %q", same[0], a, u, b)
			}
		}
	}
	for _, other := range [][2]string{
		{"http://h/a/foo.html", "http://h/b/foo.html"},
		{"http://h/a.html", "http://g/a.html"},
		{"http://h/a.html", "http://h/a.html?x"},
	} {
		if stem(parse(t, other[0])) == stem(parse(t, other[1])) {
			t.Errorf("%s and %s have one stem", other[0], other[1])
		}
	}
}

// left makes a page one that left in this run.
func left(rec record.Resource, outcome site.Outcome, target uint32) record.Resource {
	rec.InSet, rec.Outcome, rec.Target, rec.Moved = false, outcome, target, 3
	return rec
}

// needed is a page that others need, as style sheets and images are.
func needed(t *testing.T, u string) record.Resource {
	rec := page(t, u)
	rec.Requis = true
	return rec
}

// entered makes a page one that is new in this run.
func entered(rec record.Resource) record.Resource {
	rec.Outcome, rec.Moved, rec.Changed = site.Fetched, 3, 3
	return rec
}

// A program makes pictures at the first look under one address, and serves them under another one after.
func TestLeavingWhatMoved(t *testing.T) {
	with := func(u string, body string) record.Resource {
		rec := needed(t, u)
		rec.Digest = record.QuickDigest([]byte(body))
		return rec
	}
	c := known(t, page(t, "http://h/"),
		left(with("http://h/i.php?/u/a-th.jpg", "a"), site.Unchanged, 0),
		left(with("http://h/i.php?/u/b-th.jpg", "b"), site.Unchanged, 0),
		left(with("http://h/i.php?/u/c-th.jpg", "c"), site.Unchanged, 0),
		with("http://h/data/a-th.jpg", "a"), entered(with("http://h/data/b-th.jpg", "b")))
	ids := []uint32{1, 2, 3}
	c.Limits.MaxDelete = 0
	if l, err := c.leaving(ids); err != nil || l != (leaving{renamed: 2, lost: 1}) {
		t.Errorf("%+v, %v", l, err)
	}
	c.Limits.MaxDelete = 0.1 // three are few: no record is read for them
	if l, err := c.leaving(ids); err != nil || l != (leaving{lost: 3}) {
		t.Errorf("of few: %+v, %v", l, err)
	}
}

// What says the same as a page that stays is no loss either: a link that has another token in each answer.
func TestLeavingWhatSaysTheSame(t *testing.T) {
	same := func(u string, as uint32) record.Resource {
		rec := left(page(t, u), site.Unchanged, 0)
		rec.Like, rec.SameText = as+1, true
		return rec
	}
	elsewhere := left(same("http://h/rate?key=6", 1), site.Redirected, 5) // maybe to a login page
	near := same("http://h/rate?key=5", 1)
	near.SameText = false
	c := known(t, page(t, "http://h/"),
		left(page(t, "http://h/rate?key=1"), site.Unchanged, 0), same("http://h/rate?key=2", 1), near,
		page(t, "http://h/no"), elsewhere)
	c.Limits.MaxDelete = 0
	ids := []uint32{1, 2, 3, 5}
	if l, err := c.leaving(ids); err != nil || l != (leaving{lost: 4}) {
		t.Errorf("nothing of it stays: %+v, %v", l, err)
	}
	c.Records.(*memory).records[4].Like, c.Records.(*memory).records[4].SameText = 2, true
	if l, err := c.leaving(ids); err != nil || l != (leaving{renamed: 2, lost: 2}) {
		t.Errorf("one stays: %+v, %v", l, err)
	}
}

func TestLeaving(t *testing.T) {
	home := page(t, "http://h/")
	for _, c := range []struct {
		name    string
		records []record.Resource // after the entry page; the numbers begin with 1
		links   map[uint32][]uint32
		ids     []uint32
		want    leaving
	}{
		{"gone", []record.Resource{left(page(t, "http://h/a.html"), site.Gone, 0)}, nil, []uint32{1},
			leaving{lost: 1}},
		{"redirect to a new type", []record.Resource{
			left(page(t, "http://h/a.html"), site.Redirected, 3), entered(page(t, "http://h/a.pdf")),
		}, nil, []uint32{1}, leaving{renamed: 1}},
		{"redirect to a login page of its own", []record.Resource{
			left(page(t, "http://h/a.html"), site.Redirected, 3), entered(page(t, "http://h/login?next=/a.html")),
		}, nil, []uint32{1}, leaving{lost: 1}},
		{"redirect to what was there under the same name", []record.Resource{
			left(page(t, "http://h/a.html"), site.Redirected, 3), page(t, "http://h/a.pdf"),
		}, nil, []uint32{1}, leaving{renamed: 1}},
		{"redirect to what was there", []record.Resource{
			left(page(t, "http://h/a.html"), site.Redirected, 3), page(t, "http://h/b.pdf"),
		}, nil, []uint32{1}, leaving{lost: 1}},
		{"all redirect to one page", []record.Resource{
			left(page(t, "http://h/a.html"), site.Redirected, 4), left(page(t, "http://h/b.html"), site.Redirected, 4),
			entered(page(t, "http://h/consent")),
		}, nil, []uint32{1, 2}, leaving{lost: 2}},
		{"another extension", []record.Resource{
			left(page(t, "http://h/a.html"), site.Gone, 0), entered(page(t, "http://h/a.php")),
			left(page(t, "http://h/b.html"), site.Gone, 0),
		}, nil, []uint32{1, 3}, leaving{lost: 1, renamed: 1}},
		{"requisites that are named after their edition", []record.Resource{
			left(needed(t, "http://h/a/s.css?v=1"), site.Unchanged, 0), entered(needed(t, "http://h/a/s.css?v=2")),
			left(needed(t, "http://h/v1/x.0f1e.js"), site.Gone, 0), entered(needed(t, "http://h/v2/x.77ab.js")),
			left(needed(t, "http://h/a/t.css?v=1"), site.Unchanged, 0),
		}, nil, []uint32{1, 3, 5}, leaving{lost: 1, renamed: 2}},
		{"pages that are named after their edition", []record.Resource{
			left(page(t, "http://h/a.html?v=1"), site.Unchanged, 0), entered(page(t, "http://h/a.html?v=2")),
			left(needed(t, "http://h/b.html?v=1"), site.Unchanged, 0),
		}, nil, []uint32{1, 3}, leaving{lost: 1, renamed: 1}},
		{"no requisites, with hashes, in other folders", []record.Resource{
			left(page(t, "http://h/js/app.4f3a2b.js"), site.Gone, 0),
			left(page(t, "http://h/static/1.4.2/guide.pdf"), site.Unchanged, 0),
			left(page(t, "http://h/s/Zk3fQ9dLx0aB7cTq/m.json"), site.Gone, 0),
			left(page(t, "http://h/js/other.77aa12.js"), site.Gone, 0),
			entered(page(t, "http://h/build/js/app.77ab01.js")), entered(page(t, "http://h/static/1.5.0/guide.pdf")),
			entered(page(t, "http://h/s/a0Kd82LmPq7Rt1Xy/m.json")),
		}, nil, []uint32{1, 2, 3, 4}, leaving{lost: 1, renamed: 3}},
		{"many, and one successor", []record.Resource{
			left(page(t, "http://h/app.4f3a2b.js"), site.Gone, 0),
			left(page(t, "http://h/app.4f3a2c.js"), site.Gone, 0),
			left(page(t, "http://h/app.4f3a2d.js"), site.Gone, 0), entered(page(t, "http://h/app.4f3a2e.js")),
		}, nil, []uint32{1, 2, 3}, leaving{lost: 2, renamed: 1}},
		{"pages that are nothing but a hash", []record.Resource{
			left(page(t, "http://h/item/4f3a2b9c"), site.Gone, 0), entered(page(t, "http://h/item/77ab01de")),
			left(page(t, "http://h/watch?v=4f3a2b9c"), site.Gone, 0), entered(page(t, "http://h/watch?v=77ab01de")),
			left(page(t, "http://h/a/17.html"), site.Gone, 0), entered(page(t, "http://h/a/18.html")),
			left(page(t, "http://h/GettingStarted"), site.Gone, 0), entered(page(t, "http://h/GettingFurther")),
		}, nil, []uint32{1, 3, 5, 7}, leaving{lost: 4}},
		{"refused, and what only refused pages linked to", []record.Resource{
			left(page(t, "http://h/no/"), site.OutOfScope, 0), left(page(t, "http://h/a.html"), site.Unchanged, 0),
			left(page(t, "http://h/b.html"), site.Unchanged, 0),
		}, map[uint32][]uint32{1: {2}}, []uint32{1, 2, 3}, leaving{lost: 1, refused: 2}},
		{"refused by the server, not by the rules", []record.Resource{
			left(page(t, "http://h/a/"), site.OutOfScope, 0),
		}, nil, []uint32{1}, leaving{lost: 1}},
	} {
		k := known(t, append([]record.Resource{home}, c.records...)...)
		k.Refuses = func(rec *record.Resource) bool { return strings.HasPrefix(rec.URL.Path(), "/no/") }
		if c.links != nil {
			k.Records.(*memory).links = c.links
		}
		if got, err := k.leaving(c.ids); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

// A site of nine files may lose one, by any rule; what a new rule of the job refuses is no loss.
func TestDropped(t *testing.T) {
	records := []record.Resource{page(t, "http://h/")}
	for i := range 8 {
		records = append(records, left(page(t, fmt.Sprintf("http://h/no/%d", i)), site.OutOfScope, 0))
	}
	for n, want := range map[int]result.Verdict{1: result.Complete, 3: result.Complete, 4: result.Suspicious} {
		c := known(t, records...)
		c.Live.Files = 9
		for id := range n {
			c.Lost.IDs = append(c.Lost.IDs, uint32(id+1))
		}
		r, err := dropped(c)
		if err != nil || r.Verdict != want {
			t.Errorf("%d of 9 files: %+v, %v", n, r, err)
		}
		c.Refuses = func(*record.Resource) bool { return true }
		r, err = dropped(c)
		if err != nil || (r.Verdict != result.Complete) || len(r.Notes) != 1 ||
			!strings.HasPrefix(r.Notes[0].What, count.Of(n, "file")+" left because the job changed") {
			t.Errorf("%d of 9 files by new rules: %+v, %v", n, r, err)
		}
		c.Lost.Unknown = 4
		if r, err = dropped(c); err != nil || (r.Verdict != result.Suspicious) {
			t.Errorf("and 4 more without a number: %+v, %v", r, err)
		}
	}
}
