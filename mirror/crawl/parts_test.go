// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/mirror/run"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
	"mirrord/testing/processtest"
	"mirrord/testing/storetest"
)

// Waits of hosts are kept until they are over.
func TestHostWaits(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for _, c := range []struct {
		name    string
		before  hostWaits
		learned map[string]time.Time
		want    hostWaits
	}{
		{name: "nothing", want: hostWaits{}},
		{name: "a new wait", learned: map[string]time.Time{"h": at(200)}, want: hostWaits{"h": 200}},
		{name: "one that stays", before: hostWaits{"h": 200}, want: hostWaits{"h": 200}},
		{name: "one that is over", before: hostWaits{"h": 100, "i": 101}, want: hostWaits{"i": 101}},
		{
			name:    "a longer one",
			before:  hostWaits{"h": 200},
			learned: map[string]time.Time{"h": at(300)},
			want:    hostWaits{"h": 300},
		},
	} {
		w := maps.Clone(c.before)
		if w.note(c.learned, at(100)); !maps.Equal(w, c.want) {
			t.Errorf("%s: %v", c.name, w)
		}
		notes := new(storetest.MemoryNotes)
		if err := urls.WriteFact(notes, hostsFact, w); err != nil {
			t.Fatal(err)
		}
		if v, err := notes.Fact(hostsFact); err != nil || (len(c.want) == 0) != (v == nil) {
			t.Errorf("%s: %q, %v", c.name, v, err)
		}
		again, _, err := urls.ReadFact[hostWaits](notes, hostsFact)
		if err != nil || !maps.Equal(again, c.want) {
			t.Errorf("%s: read again: %v, %v", c.name, again, err)
		}
	}
}

// What was skipped was last looked at between two times, of which the zero time is neither.
func TestSkips(t *testing.T) {
	var s skips
	for _, at := range []int64{0, 50, 30, 0, 70} {
		when := time.Time{}
		if at > 0 {
			when = time.Unix(at, 0)
		}
		s.look(when)
	}
	if s.oldest.Unix() != 30 || s.latest.Unix() != 70 {
		t.Errorf("%v to %v", s.oldest, s.latest)
	}
}

// A document of the mirror with nofollow is a reason why links are not known; one that left is not.
func TestCutOf(t *testing.T) {
	for _, c := range []struct {
		rec  record.Resource
		want result.Cut
	}{
		{record.Resource{InSet: true}, 0},
		{record.Resource{InSet: true, NoFollow: true}, result.CutNoFollow},
		{record.Resource{NoFollow: true}, 0},
		{record.Resource{Cut: uint16(result.CutNoFollow)}, result.CutNoFollow},
	} {
		if got := cutOf(&c.rec); got != c.want {
			t.Errorf("%+v: %v", c.rec, got)
		}
	}
}

// Nothing more is stored when the disk has less than the job wants free.
func TestDiskRoom(t *testing.T) {
	dir := t.TempDir()
	for least, full := range map[job.Size]bool{0: false, 1: false, 1 << 60: true} {
		if err := diskRoom(dir, least); (err != nil) != full {
			t.Errorf("min_free = %v: %v", least, err)
		}
	}
	if err := diskRoom(dir+"/missing", 1); err != nil {
		t.Errorf("of a disk that cannot be measured: %v", err)
	}
}

// A URL that no document names is requested only when the rules, robots.txt and the host let it.
func TestMayRequest(t *testing.T) { synctest.Test(t, mayRequestRows) }

func mayRequestRows(t *testing.T) {
	b := bench{processtest.NewRunBench(t, "[scope]\nexclude = [\"/out/**\"]\n", map[string]string{"/": "200 a"})}
	b.Forbids = "Disallow: /no\n"
	r := b.begin()
	u := func(path string) site.URL { return site.Canonical(home + path) }
	if mayRequest(r, u("/a")) {
		t.Error("before robots.txt is known")
	}
	if _, err := r.dispatcher.LearnRobots(t.Context(), u("/"), b.Site); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/a": true, "/no": false, "/out/a": false} {
		if got := mayRequest(r, u(path)); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	r.dispatcher.HostErrors.LeaveOrigin(u("/"), "it is down")
	if mayRequest(r, u("/a")) {
		t.Error("of an origin that is down")
	}
}

// A job that keeps cookies requests an entry point of each origin first, and follows a few redirects.
func TestGreet(t *testing.T) { synctest.Test(t, greetRows) }

func greetRows(t *testing.T) {
	for _, c := range []struct {
		keys, forbids string
		site          map[string]string
		want          string
	}{
		{"", "", map[string]string{"/": "302c /a"}, "[]"},
		{"[auth]\ncookies = true\n", "", map[string]string{"/": "200 a"}, "[/]"},
		{"[auth]\ncookies = true\n", "", map[string]string{"/": "302c /a", "/a": "200 a"}, "[/ /a]"},
		{"[auth]\ncookies = true\n", "Disallow: /a\n", map[string]string{"/": "302c /a"}, "[/]"},
		{"[auth]\ncookies = true\n", "", map[string]string{"/": "302c /"}, "[/ / / / / /]"},
	} {
		b := bench{processtest.NewRunBench(t, c.keys, c.site)}
		b.Forbids = c.forbids
		greet(t.Context(), b.begin())
		var got []string
		for _, u := range b.Requests() {
			got = append(got, u[len(home):])
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%q, %v: requested %v, want %s", c.keys, c.site, got, c.want)
		}
	}
}

// A run that was held for review is looked at by a few of its pages: as long as each answers as it did, all
// stays as it was.
func TestStillHeld(t *testing.T) { synctest.Test(t, stillHeld) }

func stillHeld(t *testing.T) {
	page := "200 <h1>A</h1><p>" + strings.Repeat("what it says, ", 20)
	pages := map[string]string{
		"/":  "200 <a href=a>a</a> <a href=b>b</a> <a href=c>c</a>",
		"/a": page + "request 4711",
		"/b": "302 /a",
	}
	for _, c := range []struct {
		name, path, reply, forbids string
		same                       bool
		asked                      int
	}{
		{name: "another token", path: "/a", reply: page + "request 4712", same: true, asked: 4},
		{name: "a page fails", path: "/a", reply: "500", asked: 2},
		{name: "nothing is different", same: true, asked: 4},
		{name: "a page has another text", path: "/a", reply: "200 This page is another one.", asked: 2},
		{name: "a page is an error", path: "/a", reply: "404", asked: 2},
		{name: "a redirect leads elsewhere", path: "/b", reply: "302 /c", asked: 3},
		{name: "a page that was gone is there", path: "/c", reply: "200 c", asked: 4},
		{name: "the entry point links to more", path: "/", reply: "200 <a href=d>d</a>", asked: 1},
		{name: "robots.txt forbids a page", forbids: "Disallow: /a\n", asked: 1},
	} {
		b := bench{processtest.NewRunBench(t, "", pages)}
		b.run()
		if c.path != "" {
			b.Answer(c.path, c.reply)
		}
		b.Forbids = c.forbids
		held := &run.Held{URLs: []string{home + "/", home + "/a", home + "/b", home + "/c"}, Entries: 1}
		same, asked, err := StillHeld(t.Context(), b.begin(), held)
		if err != nil || same != c.same || asked != c.asked && same {
			t.Errorf("%s: %t after %d requests, %v", c.name, same, asked, err)
		}
		if n := len(b.Requests()); n != c.asked {
			t.Errorf("%s: %d requests, want %d", c.name, n, c.asked)
		}
	}
	b := bench{processtest.NewRunBench(t, "", pages)}
	b.Forbids = "Disallow: /\n"
	b.run()
	held := &run.Held{URLs: []string{home + "/"}, Entries: 1}
	if same, asked, err := StillHeld(t.Context(), b.begin(), held); !same || asked != 0 || err != nil {
		t.Errorf("robots.txt forbids all, as before: %t after %d requests, %v", same, asked, err)
	}
	b.Answers[home+"/"] = processtest.SiteReply{Err: fetch.ErrReset}
	b.Forbids = ""
	if same, _, err := StillHeld(t.Context(), b.begin(), held); same || err != nil {
		t.Errorf("without an answer: %t, %v", same, err)
	}
}
