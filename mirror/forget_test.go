// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/mirror/report"
	"mirrord/mirror/scope"
	"mirrord/mirror/takedown"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/record"
	"mirrord/store/upkeep"
	"mirrord/testing/mirrortest"
)

// down is something to forget.
func down(what string) scope.TakeDown {
	return scope.TakeDown{
		What:   what,
		Glob:   strings.Contains(what, "*"),
		Reason: "court order 12",
		At:     time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC),
	}
}

// forget takes something out of a mirror as the command does.
func forget(t *testing.T, m *mirrortest.Mirror, what ...string) {
	t.Helper()
	withSite(t, m, func(st *store.State, s *store.Site) {
		for _, w := range what {
			f, err := takedown.Find(s, down(w))
			if err != nil {
				t.Fatal(err)
			}
			if err := takedown.Begin(s, append(f.Twins, down(w))...); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := takedown.Finish(t.Context(), st, s, nil); err != nil || len(left) > 0 {
			t.Fatalf("left %q, %v", left, err)
		}
	})
	collectBlobs(t, m)
}

func collectBlobs(t *testing.T, m *mirrortest.Mirror) {
	t.Helper()
	st, err := store.OpenState(m.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.CollectBlobs(t.Context(), false); err != nil {
		t.Fatal(err)
	}
}

// wantNothingOf holds that a state has no file, no frame and no record of a version of some URLs, that every
// version can be read, and that none has a link that leads nowhere.
func wantNothingOf(t *testing.T, m *mirrortest.Mirror, gone func(url string) bool, text string) {
	t.Helper()
	if found := mirrortest.FindText(t, m.Dir, text); len(found) > 0 {
		t.Errorf("%q is in %q", text, found)
	}
	withSite(t, m, func(st *store.State, s *store.Site) {
		urls := map[uint32]string{}
		if err := s.Records.Resources(func(r *record.Resource) error {
			urls[r.ID] = r.URL.String()
			return nil
		}); err != nil {
			t.Error(err)
		}
		eachFrame(t, s, func(f *bodies.Frame) {
			if id, err := f.ID(); err != nil || gone(urls[id]) || bytes.Contains(f.Body, []byte(text)) {
				t.Errorf("a frame of %s (%v)", urls[id], err)
			}
		})
		vs, err := s.Versions.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vs {
			p, err := render.OpenPast(render.MaterialOf(st, s), v.Number)
			if err != nil {
				t.Fatal(err)
			}
			wantWhole(t, p, gone)
		}
		stats, err := report.Verify(t.Context(), s, func(p upkeep.Problem) { t.Errorf("verify: %s", p) })
		if err != nil || stats.Problems > 0 {
			t.Errorf("verify: %d problems, %v", stats.Problems, err)
		}
	})
}

// wantWhole holds that a version has nothing of some URLs, and is what its tables say.
func wantWhole(t *testing.T, p *render.PastFS, gone func(url string) bool) {
	t.Helper()
	has := map[string]bool{}
	for _, f := range p.Files() {
		has[f.Path] = true
	}
	size := int64(0)
	for _, f := range p.Files() {
		if gone(f.URL) {
			t.Errorf("version %d has %s", p.Version.Number, f.Path)
		}
		raw, err := fs.ReadFile(p, f.Path)
		if err != nil || int64(len(raw)) != f.Size {
			t.Errorf("version %d: %s: %d bytes, want %d (%v)", p.Version.Number, f.Path, len(raw), f.Size, err)
		}
		size += f.Size
		for _, b := range mirrortest.BrokenLinks(&f, raw, func(path string) bool { return has[path] }) {
			t.Errorf("version %d: %s: link %s leads nowhere", p.Version.Number, f.Path, b)
		}
	}
	m, err := phm.ReadMeta(bytes.NewReader(p.Version.Meta))
	if err != nil {
		t.Fatal(err)
	}
	table, err := fs.ReadFile(p, phm.FilesName)
	if err != nil {
		t.Fatal(err)
	}
	if m.Files != len(has) || m.TableBytes != int64(len(table)) || p.Version.Bytes != size {
		t.Errorf("version %d: phm.json says %d files, table of %d; version %d bytes; want %d, %d, %d",
			p.Version.Number, m.Files, m.TableBytes, p.Version.Bytes, len(has), len(table), size)
	}
}

// eachFrame calls f for every frame of the packs of a site, in use or not.
func eachFrame(t *testing.T, s *store.Site, f func(*bodies.Frame)) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(s.Dir, "packs", "*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	r := bodies.NewFrameReader()
	for _, name := range packs {
		var num uint32
		if _, err := fmt.Sscanf(filepath.Base(name), "%d.pack", &num); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for off := 0; off < len(raw); {
			n := 12 + int(binary.LittleEndian.Uint32(raw[off+4:]))
			at := record.Place{Pack: num, Off: int64(off), Len: uint32(n)}
			docs := uint32(0)
			if string(raw[off:off+4]) == "mPb1" { // a frame of many
				docs, at.Doc = binary.LittleEndian.Uint32(raw[off+12:]), 1
			}
			for ; at.Doc <= docs; at.Doc++ {
				fr, err := s.Frames.ReadFrame(r, at)
				if err != nil {
					t.Fatal(err)
				}
				f(&fr)
			}
			off += n
		}
	}
}

// A random site with versions: forgotten URLs are in no version, and the next run changes nothing.
func TestForgetRandomSites(t *testing.T) {
	for range 2 {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 3))
		w := mirrortest.Start(t)
		m := mirrortest.New(t, w, "limits.max_delete = \"100%\"\nlimits.max_failures = \"100%\"\n"+job())
		m.Durable = true
		for range 6 {
			evolve(w, rng, 30)
			m.Run()
		}
		gone := func(url string) bool { return strings.Contains(url, "/d1/") || url == home+"/img/2.png" }
		forget(t, m, "/d1/**", home+"/img/2.png")
		wantNothingOf(t, m, gone, "nowhere to be found")
		w.Requests()
		s := m.Run() // pictures that only forgotten pages show go
		if s.Verdict != mirror.Complete || s.Added+s.Changed > 0 {
			t.Errorf("the run after it: %s", mirrortest.Text(s))
		}
		for _, r := range w.Requests() {
			if gone(r.URL) {
				t.Errorf("requested: %s", r.URL)
			}
		}
		evolve(w, rng, 30)
		m.Run()
		wantNothingOf(t, m, gone, "nowhere to be found")
		for u, outcome := range m.Outcomes() {
			if gone(u) && !strings.Contains(outcome, "court order 12") {
				t.Errorf("%s: %s", u, outcome)
			}
		}
	}
}

// secret has a digit in each word, so that a page without it has the same gist.
const secret = "The4 secret4 of4 the4 Smith4 family4 is4 in4 the4 cellar4 behind4 the4 third4 barrel4"

// secretSite is a site with a page that is to be forgotten, one that says nearly the same, a picture, and an
// index that two URLs share.
func secretSite(t *testing.T) (*mirrortest.Web, *mirrortest.Mirror) {
	w := mirrortest.Start(t)
	long := strings.Repeat("<p>"+mirrortest.Words(7, 300)+"</p>\n", 12)
	w.SetAll(home, map[string]mirrortest.Page{
		"/":                mirrortest.HTML("Home", `<a href=a.html>a</a> <a href=smith.html>s</a> <a href=dir/>d</a>`),
		"/a.html":          mirrortest.HTML("A", `<img src=smith.png> <a href=smith.html>s</a> <a href=to>t</a>`),
		"/to":              mirrortest.Redirect("/smith.html"),
		"/smith.html":      mirrortest.HTML("Family", `<p>`+secret+`</p>`+long),
		"/like.html":       mirrortest.HTML("Family", `<p>something3 else4</p>`+long),
		"/smith.png":       {Body: secret},
		"/dir/":            mirrortest.HTML("Dir", `<a href=index.html>i</a>`),
		"/dir/index.html":  mirrortest.HTML("Dir", `<a href=index.html>i</a>`),
		"/favicon.ico":     mirrortest.Status(404),
		"/dir/other.html":  mirrortest.HTML("Other", `<a href=../smith.html>s</a>`),
		"/dir/more/b.html": mirrortest.HTML("B", "b"),
	})
	m := mirrortest.New(t, w, job())
	m.Durable = true
	return w, m
}

func isSmith(url string) bool { return strings.Contains(url, "/smith.") }

func TestForget(t *testing.T) {
	w, m := secretSite(t)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	front := w.Page(home + "/") // pages like smith.html come later
	front.Body += "<a href=like.html>l</a>"
	w.Set(home+"/", front)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for i := range 3 {
		p := w.Page(home + "/smith.html")
		p.Body += fmt.Sprintf("<p>addition %d", i)
		w.Set(home+"/smith.html", p)
		w.Set(home+"/b.html", mirrortest.HTML("B", fmt.Sprint(i)))
		wantVerdict(t, m.Run(), mirror.Complete, true)
	}
	if n := likeDeltas(t, m); n == 0 {
		t.Error("like.html is no delta over smith.html, which this test is for")
	}
	forget(t, m, "smith.*")
	wantNothingOf(t, m, isSmith, secret)
	if n := likeDeltas(t, m); n != 0 {
		t.Error("like.html is still a delta")
	}
	if got := m.Tree()["a.html"]; !strings.Contains(got, home+"/smith.html") {
		t.Errorf("a.html: %s", got)
	}
	w.Requests()
	wantVerdict(t, m.Run(), mirror.Complete, false)
	for _, r := range w.Requests() {
		if isSmith(r.URL) {
			t.Errorf("requested: %s", r.URL)
		}
	}
	// Forgotten again, and with nothing left to do, it changes nothing.
	before := m.Stamps()
	forget(t, m, "smith.*")
	if after := m.Stamps(); len(after) != len(before) {
		t.Errorf("%d files, %d before", len(after), len(before))
	}
	withSite(t, m, func(_ *store.State, s *store.Site) {
		if was, err := takedown.Allow(s, "smith.*"); !was || err != nil {
			t.Fatal(was, err)
		}
	})
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if m.Tree()["smith.html"] == "" || m.Tree()["smith.png"] != secret {
		t.Errorf("it was not mirrored again: %q", m.Paths())
	}
}

// Head, validator, title and text of a page are nowhere in the state when it was forgotten: not in what was
// deleted from the database, nor in the log of what was written to it.
func TestForgetLeavesNoByte(t *testing.T) {
	const hidden = "Sm1th-4711"
	w, m := secretSite(t)
	links := ""
	for i := range 300 {
		links += fmt.Sprintf("<a href=p%d.html>p</a>", i)
		w.Set(fmt.Sprintf("%s/p%d.html", home, i), mirrortest.HTML("P", fmt.Sprint(i)))
	}
	front := w.Page(home + "/")
	front.Body += links
	w.Set(home+"/", front)
	for i := range 3 {
		p := mirrortest.HTML(hidden, fmt.Sprintf("<p>%s, %d", hidden, i))
		p.Header["X-Who"], p.Header["Etag"] = hidden, fmt.Sprintf("\"%s-%d\"", hidden, i)
		w.Set(home+"/smith.html", p)
		m.Run()
	}
	if n := len(mirrortest.FindText(t, m.Dir, hidden)); n < 5 {
		t.Fatalf("%d places have the text, which this test is for", n)
	}
	forget(t, m, "smith.*")
	if found := mirrortest.FindText(t, m.Dir, hidden); len(found) > 0 {
		t.Errorf("the text is in %q", found)
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// A run that was killed has found URLs to be forgotten, and pages that have no mirror path yet: these are
// not requested again.
func TestForgetWhatAKilledRunFound(t *testing.T) {
	w, m := secretSite(t)
	m.Set("polite.connections", "1")
	w.Set(home+"/last.html", mirrortest.HTML("Last", "last"))
	front := w.Page(home + "/")
	front.Body += "<a href=last.html>last</a>"
	w.Set(home+"/", front)
	had := map[string]bool{}
	killed := ""
	w.Hook(func(r *http.Request) {
		had[r.URL.Path] = true
		if r.URL.Path != "/last.html" || !had["/smith.html"] || killed != "" {
			return
		}
		for !journaled(t, m, home+"/smith.html") { // the batch is on its way
			runtime.Gosched()
		}
		killed = filepath.Join(t.TempDir(), "killed")
		if err := os.CopyFS(killed, os.DirFS(m.Dir)); err != nil {
			t.Error(err)
		}
	})
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Hook(nil)
	if killed == "" {
		t.Fatal("last.html was requested before smith.html")
	}
	m.Dir = killed
	if m.Published() || !journaled(t, m, home+"/smith.html") {
		t.Fatal("the run is not cut off")
	}
	forget(t, m, "smith.*")
	w.Requests()
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for _, r := range w.Requests() {
		if isSmith(r.URL) || strings.HasSuffix(r.URL, "/a.html") {
			t.Errorf("requested: %s", r.URL)
		}
	}
	wantNothingOf(t, m, isSmith, secret)
	if m.Tree()["last.html"] == "" || m.Tree()["a.html"] == "" {
		t.Errorf("files %q", m.Paths())
	}
}

// journaled reports whether an unfinished run has found a URL.
func journaled(t *testing.T, m *mirrortest.Mirror, url string) (found bool) {
	m.Site(func(s *store.Site) {
		err := s.Records.Replay(
			func(uint32, record.NewURL) error { return nil },
			func(rec *record.Resource, _ []byte, _ bool) error {
				found = found || rec.URL.String() == url
				return nil
			})
		if err != nil {
			t.Error(err)
		}
	})
	return found
}

// likeDeltas is how many frames of like.html are deltas.
func likeDeltas(t *testing.T, m *mirrortest.Mirror) (n int) {
	withSite(t, m, func(_ *store.State, s *store.Site) {
		rec, ok, err := s.Records.Get(wantURL(t, home+"/like.html"))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		raw, err := os.ReadFile(filepath.Join(s.Dir, "packs", fmt.Sprintf("%06d.pack", rec.At.Pack)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(raw[rec.At.Off:]), "mPd") {
			n++
		}
	})
	return n
}

func wantURL(t *testing.T, raw string) site.URL {
	t.Helper()
	u, _, err := site.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
