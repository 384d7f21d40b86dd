// SPDX-License-Identifier: Apache-2.0

package space

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func page(links ...string) string {
	var b strings.Builder
	for _, l := range links {
		fmt.Fprintf(&b, `<a href="%s">x</a>`, l)
	}
	return b.String()
}

// staleWorld has a page of a that links to x.html of b and cannot be made again, until it is repaired.
func staleWorld(t *testing.T) (w *world, mend func()) {
	w = newWorld(t)
	w.members["a"], w.members["b"] = true, true
	w.publish("a", map[string]string{"index.html": page(w.urlOf("b", "x.html")), "other.html": "x"})
	w.publish("b", map[string]string{"index.html": "i", "x.html": "x"})
	w.update()
	w.check("at first")
	names, err := filepath.Glob(filepath.Join(w.dir, Folder, "s", bodiesFolder, "a", "*"))
	w.must(err)
	whole := map[string][]byte{}
	for _, n := range names {
		whole[n], err = os.ReadFile(n)
		w.must(err)
		w.must(os.Remove(n)) // it has the inode of the published file
		w.must(os.WriteFile(n, []byte("damaged"), 0o644))
	}
	return w, func() {
		for n, data := range whole {
			w.must(os.WriteFile(n, data, 0o644))
		}
	}
}

// A page that cannot be made again stays as it is, and so does its target; once it can be, both go.
func TestStale(t *testing.T) {
	w, mend := staleWorld(t)
	for _, gone := range []bool{false, true} {
		if gone {
			delete(w.members, "b")
		} else {
			w.publish("b", map[string]string{"index.html": "i"})
		}
		w.update()
		w.noDangling()
		o, err := Look(w.dir, "s", 5)
		w.must(err)
		if len(o.Mirrors) != 2 || len(o.Mirrors[0].Stale) != 1 ||
			!slices.Equal(o.Mirrors[1].Kept, []string{"x.html"}) || o.Mirrors[1].Gone != gone {
			t.Fatalf("%+v", o)
		}
	}
	if k, err := KeptOf(w.dir, "b"); err != nil || !slices.Equal(k, []KeptFiles{{"s", 1}}) {
		t.Errorf("%v, %v", k, err)
	}
	before := w.log.Len()
	w.update()
	if before == 0 || w.log.Len() != before {
		t.Errorf("it is not said once: %s", w.log.String())
	}
	mend()
	w.update()
	w.check("whole again")
}

// A run of the mirror makes stale pages again, of what the mirror has.
func TestStaleUntilRun(t *testing.T) {
	w, _ := staleWorld(t)
	delete(w.members, "b")
	w.update()
	if o, err := Look(w.dir, "s", 0); err != nil || len(o.Mirrors) != 2 {
		t.Fatalf("%+v, %v", o, err)
	}
	w.fresh = []string{"a"}
	w.update()
	w.check("after a run")
}

// Damage in a space is found and repaired.
func TestDamaged(t *testing.T) {
	w := newWorld(t)
	w.members["a"], w.members["b"] = true, true
	w.publish("a", map[string]string{"index.html": page(w.urlOf("b", "x.png")), "plain.html": "x"})
	w.publish("b", map[string]string{"index.html": "i", "x.png": "x"})
	w.update()
	for _, p := range []string{"@@a/index.html", "@@a/plain.html", "@@b/x.png"} {
		name := filepath.Join(w.dir, FilesDir("s"), p)
		old, err := os.ReadFile(name)
		w.must(err)
		w.must(os.Remove(name)) // it has the inode of the published file
		w.must(os.WriteFile(name, []byte(strings.Repeat("!", len(old))), 0o644))
	}
	found, err := Verify(w.dir, "s", "")
	w.must(err)
	if len(found) != 3 {
		t.Errorf("%+v", found)
	}
	o := w.options()
	o.Damaged = []string{"a", "b"}
	_, err = Update(t.Context(), o)
	w.must(err)
	w.check("made again")
}

// A mirror that cannot be opened stays as it was; all others are updated, and none is opened that
// has not changed.
func TestLockedNeighbour(t *testing.T) {
	w := newWorld(t)
	for _, n := range []string{"a", "b", "c"} {
		w.members[n] = true
		links := page("http://d.example/index.html", "http://a.example/index.html")
		w.publish(n, map[string]string{"index.html": links})
	}
	w.update()
	w.locked["a"], w.members["d"] = true, true
	w.opened = nil
	w.publish("a", map[string]string{"index.html": "other"})
	w.publish("d", map[string]string{"index.html": page("http://a.example/index.html")})
	r := w.update()
	if r.Pages != 4 || r.Left["a"] == "" || !slices.Equal(w.opened, []string{"d"}) {
		t.Errorf("%+v, opened %q", r, w.opened)
	}
	w.noDangling()
	if got := w.files()["@@a/index.html"]; !strings.Contains(got, `"../@@d/index.html"`) {
		t.Error(got)
	}
	w.locked["a"] = false
	w.update()
	w.check("unlocked")
	if r := w.update(); len(r.Mirrors)+r.Pages+len(r.Left) > 0 {
		t.Errorf("nothing changed: %+v", r)
	}
}

// A space to which all mirrors belong is there before the first one and after the last one.
func TestTakeAll(t *testing.T) {
	w := newWorld(t)
	takes := func(want ...string) {
		t.Helper()
		names, err := Names(w.dir)
		w.must(err)
		var got []string
		for _, n := range names {
			if TakesAll(w.dir, n) {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for range 2 {
		w.must(TakeAll(w.dir, "s"))
		takes("s")
	}
	w.publish("a", map[string]string{"index.html": "x"})
	w.members["a"] = true
	w.update()
	w.check("one")
	delete(w.members, "a")
	w.update()
	takes("s")
	w.must(TakeAll(w.dir, "other"))
	takes("other")
	w.must(TakeAll(w.dir, ""))
	takes()
	w.update()
	if names, err := Names(w.dir); err != nil || !slices.Equal(names, []string{"other"}) {
		t.Errorf("%q, %v", names, err)
	}
}

// Who comes while another process works leaves word and does not wait.
func TestBusy(t *testing.T) {
	w := newWorld(t)
	w.members["a"] = true
	w.publish("a", map[string]string{"index.html": page(w.urlOf("b", "index.html"))})
	w.update()
	w.members["b"] = true
	w.publish("b", map[string]string{"index.html": "b"})
	lock, err := os.Open(filepath.Join(w.dir, Folder, "s", lockName))
	w.must(err)
	w.must(unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	if r := w.update(); !r.Busy {
		t.Fatalf("%+v", r)
	}
	w.must(lock.Close())
	w.publish("c", map[string]string{"index.html": page(w.urlOf("b", "index.html"))})
	w.members["c"] = true
	first := true
	w.step = func(string) { // another one comes in the middle
		if first {
			first = false
			o := w.options()
			o.step, o.Fresh = nil, []string{"b"}
			if r, err := Update(t.Context(), o); err != nil || !r.Busy {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
	w.update()
	w.check("both")
	if _, err := os.Stat(filepath.Join(w.dir, Folder, "s", againName)); err == nil {
		t.Error("the word is still there")
	}
}

func TestResolve(t *testing.T) {
	w := newWorld(t)
	for n, places := range map[string][]string{
		"host": {"h.example/"}, "deep": {"h.example/docs/"}, "domain": {"*.example"}, "again": {"h.example/"},
	} {
		w.members[n] = true
		w.publish(n, map[string]string{"index.html": n})
		w.sites[n].places = places
		w.redirects[n] = map[string]string{
			"http://h.example/docs/a": w.urlOf(n, "index.html"),
			"http://h.example/b":      w.urlOf(n, "index.html"),
			"http://h.example/part":   w.urlOf(n, "index.html") + "#part",
			"http://h.example/lost":   w.urlOf(n, "none.html"),
		}
	}
	w.members["from"] = true
	w.publish("from", map[string]string{
		"index.html": page("http://h.example/docs/a", "http://h.example/b#c", "http://h.example/lost",
			"mailto:x", "http://h.example/part", "http://h.example/part#own"),
	})
	w.update()
	got := w.files()["@@from/index.html"]
	want := page("../@@deep/index.html", "../@@again/index.html#c", "http://h.example/lost", "mailto:x",
		"../@@again/index.html#part", "../@@again/index.html#part")
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for url, why := range map[string]string{
		"http://h.example/b":    "the scope of again is the narrowest",
		"http://h.example/lost": "no mirror of the space holds it",
	} {
		if l, err := Explain(w.dir, "s", "from", url); err != nil || !strings.Contains(l.Why, why) {
			t.Errorf("%s: %+v, %v", url, l, err)
		}
	}
	o, err := Look(w.dir, "s", 5)
	w.must(err)
	if o.Links != 4 || o.Outside != 1 || o.Wanted[0] != (Count{"h.example", 1}) {
		t.Errorf("%+v", o)
	}
}

// Links to other sites take 20 bytes each; a million of them are looked at with MIRRORD_LONG=1.
func TestLinksSize(t *testing.T) {
	links := 100_000
	if os.Getenv("MIRRORD_LONG") != "" {
		links = 1_000_000
	}
	var b linkBuilder
	for i := range uint64(links) {
		host := b.host(fmt.Sprint(i%1000, ".example"))
		b.all = append(b.all, link{url: i * 0x9e3779b97f4a7c15, doc: i % 50_000, host: host})
	}
	size := len(b.bytes())
	t.Logf("%d links of %d hosts: %.2f bytes each", links, len(b.hosts), float64(size)/float64(links))
	if len(b.all) != links || size > 24*links {
		t.Errorf("%d links in %d bytes", len(b.all), size)
	}
}

// The 51st mirror of a space costs as much as the pages that link to it; -v prints it. The number of
// mirrors is that of the issue with MIRRORD_LONG=1.
func TestFiftyFirst(t *testing.T) {
	mirrors, pages := 8, 40
	if os.Getenv("MIRRORD_LONG") != "" {
		mirrors, pages = 50, 2000
	}
	w := newWorld(t)
	to := 0
	for m := range mirrors {
		files := map[string]string{}
		for p := range pages {
			next := (m + p) % (mirrors + 1)
			body := "<p>text</p>"
			if p%20 == 0 && next != m { // 5 % lead to another mirror
				body += page(w.urlOf(fmt.Sprint("m", next), "d0/p0.html"))
				if next == mirrors {
					to++
				}
			}
			files[fmt.Sprintf("d%d/p%d.html", p/100, p)] = body
		}
		w.publish(fmt.Sprint("m", m), files)
		w.members[fmt.Sprint("m", m)] = true
	}
	w.update()
	last := fmt.Sprint("m", mirrors)
	w.members[last] = true
	files := map[string]string{}
	for p := range pages {
		files[fmt.Sprintf("d%d/p%d.html", p/100, p)] = "<p>text</p>"
	}
	w.publish(last, files)
	w.opened = nil
	began := time.Now()
	r := w.update()
	t.Logf("%d mirrors of %d pages: the last one came in %v, %d pages of others were made again", mirrors, pages,
		time.Since(began), r.Pages)
	if r.Pages != to || to == 0 || !slices.Equal(w.opened, []string{last}) {
		t.Errorf("%d pages were written, want %d; opened %q", r.Pages, to, w.opened)
	}
}

// Links to URLs that a mirror no longer has go to their last copy, from mirrors that repair; those of the
// copy go to the present files. The copy is removed when no page links to it.
func TestLastCopies(t *testing.T) {
	w := newWorld(t)
	w.members["a"], w.members["b"], w.members["c"] = true, true, true
	gone, pic, home := w.urlOf("b", "gone.html"), w.urlOf("b", "gone.png"), w.urlOf("b", "index.html")
	text := page(gone+"#x", home)
	w.publish("a", map[string]string{"index.html": text, "p/other.html": page(gone)})
	w.publish("c", map[string]string{"index.html": text})
	w.publish("b", map[string]string{"index.html": "i", "gone.html": "whole", "gone.png": "p"})
	w.update()
	w.check("before")
	w.repair = map[string]bool{"a": true}
	w.gone = map[string]map[string]string{"b": {gone: page(home, w.urlOf("a", "index.html")), pic: "p"}}
	w.publish("b", map[string]string{"index.html": "i"})
	leads := func(when, p string, has ...string) {
		t.Helper()
		w.noDangling()
		if found, err := Verify(w.dir, "s", ""); err != nil || len(found) > 0 {
			t.Errorf("%s: %+v, %v", when, found, err)
		}
		got, there := w.files()[p]
		for _, h := range has {
			if !strings.Contains(got, `"`+h+`"`) {
				t.Errorf("%s: %s (%t) does not lead to %s: %s", when, p, there, h, got)
			}
		}
	}
	for _, when := range []string{"gone", "again"} {
		w.update()
		leads(when, "@@a/index.html", "../@@b/@@last/gone.html#x", "../@@b/index.html")
		leads(when, "@@a/p/other.html", "../../@@b/@@last/gone.html")
		leads(when, "@@c/index.html", gone+"#x")
		leads(when, "@@b/@@last/gone.html", "../index.html", "../../@@a/index.html")
		if _, ok := w.files()["@@b/@@last/gone.png"]; ok {
			t.Errorf("%s: a copy to which nothing links", when)
		}
	}
	if r := w.update(); len(r.Mirrors)+r.Pages+len(r.Left) > 0 {
		t.Errorf("nothing changed: %+v", r)
	}
	x, err := Explain(w.dir, "s", "a", gone)
	w.must(err)
	if x.Leads != "@@b/@@last/gone.html" || !strings.Contains(x.Why, "last copy, of version 1 of mirror b") {
		t.Errorf("%+v", x)
	}
	w.members["d"], w.seen = true, map[string]int64{"b": 5, "d": 9}
	w.gone["d"] = map[string]string{gone: "newer"}
	w.publish("d", map[string]string{"index.html": "d"})
	w.update()
	leads("of two the newer one", "@@a/index.html", "../@@d/@@last/gone.html#x")
	delete(w.members, "d")
	w.repair["c"] = true
	w.update()
	leads("c repairs too", "@@c/index.html", "../@@b/@@last/gone.html#x")
	// what the copy links to leaves, and comes again
	w.publish("b", map[string]string{"other.html": "i"})
	w.update()
	leads("the entry left", "@@b/@@last/gone.html", home)
	w.publish("b", map[string]string{"index.html": "i"})
	w.update()
	leads("the entry is back", "@@b/@@last/gone.html", "../index.html")
	// it is there again: any copy of now is better than the last one
	w.gone["b"] = nil
	w.publish("b", map[string]string{"index.html": "i", "gone.html": "back"})
	w.update()
	leads("back", "@@a/index.html", "../@@b/gone.html#x")
	w.gone["b"] = map[string]string{gone: "whole"}
	w.publish("b", map[string]string{"index.html": "i"})
	w.update()
	leads("gone again", "@@a/index.html", "../@@b/@@last/gone.html#x")
	w.repair = nil
	w.update()
	w.check("without repair")
}

// A link that was repaired to a replica on the network goes to the last copy of its first target. One
// that a page has by itself stays, and a copy of the replica comes first.
func TestLastCopyOfRepaired(t *testing.T) {
	w := newWorld(t)
	w.members["a"], w.members["b"] = true, true
	w.repair = map[string]bool{"a": true}
	gone, replica := w.urlOf("b", "gone.html"), "http://r.example/gone.html"
	w.gone = map[string]map[string]string{"b": {gone: "whole"}}
	declared := fmt.Sprintf(`[{"at":1,"was":%q,"to":%q}]`, gone, replica)
	w.repaired = map[string]string{"a/index.html": declared, "a/twice.html": declared}
	files := map[string]string{"index.html": page(replica + "#x"), "twice.html": page(replica, replica)}
	w.publish("a", files)
	w.publish("b", map[string]string{"index.html": "i"})
	leads := func(when, p, want string) {
		t.Helper()
		w.update()
		w.noDangling()
		if got := w.files()[p]; got != want {
			t.Errorf("%s: %s is %s, want %s", when, p, got, want)
		}
	}
	leads("b has the page", "@@a/index.html", page("../@@b/@@last/gone.html#x"))
	leads("linked by itself too", "@@a/twice.html", files["twice.html"])
	w.urls["r/gone.html"], w.members["r"] = replica, true
	w.publish("r", map[string]string{"gone.html": "copy"})
	leads("the replica is mirrored", "@@a/index.html", page("../@@r/gone.html#x"))
	delete(w.members, "r")
	leads("and no longer is", "@@a/index.html", page("../@@b/@@last/gone.html#x"))
}

// A kill while last copies come or go leaves no link that leads nowhere.
func TestLastCopiesKilled(t *testing.T) {
	for at := 0; ; at++ {
		w := newWorld(t)
		w.members["a"], w.members["b"] = true, true
		gone := w.urlOf("b", "gone.html")
		w.publish("a", map[string]string{"index.html": page(gone)})
		w.publish("b", map[string]string{"index.html": "i", "gone.html": "whole"})
		w.repair = map[string]bool{"a": true}
		w.update()
		w.gone = map[string]map[string]string{"b": {gone: page(w.urlOf("b", "index.html"))}}
		w.publish("b", map[string]string{"index.html": "i"})
		stopped := w.killed(at)
		w.noDangling()
		w.update()
		w.noDangling()
		if got := w.files()["@@a/index.html"]; !strings.Contains(got, `"../@@b/@@last/gone.html"`) {
			t.Fatalf("stopped at %d: %s", at, got)
		}
		if !stopped {
			return
		}
	}
}
