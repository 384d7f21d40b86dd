// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/pages"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// wordy is a page of n words that no other number gives, with one link.
func wordy(number, n int, more string) mirrortest.Page {
	return mirrortest.HTML("Prose", "<p>"+mirrortest.Words(uint32(number)*2654435761+1, n)+more+
		` <a href="/">home</a>`)
}

// linked is wordy with a link of its own, so that pages that say the same do not count as an error page.
func linked(number, n, to int) mirrortest.Page {
	return wordy(number, n, fmt.Sprintf("<a href=/page%02d.html>next</a>", to))
}

// packed is the length of the packs in bytes.
func packed(t *testing.T, m *mirrortest.Mirror) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.Dir, "sites", "*", "packs", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("packs: %v, %v", files, err)
	}
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		n += st.Size()
	}
	return n
}

// said is the record of the text of a page: "=" or "~" and the URL that it is like.
func said(t *testing.T, m *mirrortest.Mirror, url string) (out string) {
	t.Helper()
	m.Site(func(s *store.Site) {
		x, err := explainURL(m, s, url)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case x.SameText:
			out = "=" + x.Like
		case x.Like != "":
			out = "~" + x.Like
		}
		var b strings.Builder
		if err := x.WriteText(&b); err != nil ||
			(x.Like != "") != strings.Contains(b.String(), "the same as "+x.Like) {
			t.Errorf("%v: %s", err, b.String())
		}
	})
	return out
}

// keptTexts lists the texts that count: the paths of URLs, and whether the records have the bodies.
func keptTexts(t *testing.T, m *mirrortest.Mirror) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	m.Site(func(s *store.Site) {
		d, err := s.Pages().Texts()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		byID := map[uint32]pages.TextEntry{}
		for _, p := range d.All() {
			byID[p.ID] = *p
		}
		err = s.Records.Resources(func(r *record.Resource) error {
			if p, ok := byID[r.ID]; ok {
				out[r.URL.RequestURI()] = p.Body == r.TextSum()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return out
}

func TestContentSeen(t *testing.T) {
	w := mirrortest.Start(t)
	var links strings.Builder
	for i := range 40 {
		fmt.Fprintf(&links, "<a href=/same?n=%d>x</a>", i)
		w.Set(fmt.Sprintf("%s/same?n=%d", home, i), wordy(1, 3000, ""))
	}
	for i := range 20 {
		fmt.Fprintf(&links, "<a href=/near%d.html>x</a> <a href=/other%d.html>x</a>", i, i)
		w.Set(fmt.Sprintf("%s/near%d.html", home, i), wordy(2, 3000, fmt.Sprintf("only this is said by %d", i)))
		w.Set(fmt.Sprintf("%s/other%d.html", home, i), wordy(100+i, 300, ""))
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()+"<a href=/plain.txt>t</a>"))
	w.Set(home+"/plain.txt", mirrortest.Page{Body: "nothing but words"})
	m := mirrortest.New(t, w, job())
	m.Durable = true
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.SameText != 39 || s.NearText != 19 {
		t.Errorf("%d pages say the same, %d nearly", s.SameText, s.NearText)
	}
	wantText(t, s, "39 say what another page says, and 19 nearly")
	before := packed(t, m)
	// bytes of a text in full; a few more than one are there, because pages come at the same time
	const full = 21_000
	if before > 8*full+20*2500+62*300 {
		t.Errorf("the packs have %d bytes", before)
	}
	if got := said(t, m, home+"/other3.html"); got != "" {
		t.Errorf("other3 is %s", got)
	}
	if got := keptTexts(t, m); len(got) != 82 || !got["/plain.txt"] || !got["/near3.html"] {
		t.Errorf("%d texts: %v", len(got), got)
	}

	// A later run knows what earlier ones saw, and what has changed since.
	w.Set(home+"/other0.html", wordy(50, 2000, ""))
	w.Set(home+"/other1.html", wordy(104, 300, "2026-11-07 17:09:33, other1"))
	w.Set(home+"/same?n=7", wordy(60, 2000, ""))
	w.Set(home+"/new.html", wordy(1, 3000, ""))
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()+"<a href=/plain.txt>t</a><a href=/new.html>new</a>"))
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if got := said(t, m, home+"/new.html"); !strings.HasPrefix(got, "="+home+"/same?n=") ||
		strings.HasSuffix(got, "=7") {
		t.Errorf("new is %q", got)
	}
	if got := said(t, m, home+"/other1.html"); got != "~"+home+"/other4.html" {
		t.Errorf("other1 is %q", got)
	}
	for _, p := range []string{"/other0.html", "/same?n=7"} {
		if got := said(t, m, home+p); got != "" {
			t.Errorf("%s is %q", p, got)
		}
	}
	if now := packed(t, m); now-before > 2*full {
		t.Errorf("the packs grew by %d bytes", now-before)
	}
	if got := keptTexts(t, m); len(got) != 83 || !got["/other0.html"] || !got["/same?n=7"] {
		t.Errorf("%d texts: %v", len(got), got)
	}

	// Unchanged pages keep their records, and cost no digest.
	s = m.Run()
	if s.SameText+s.NearText != 0 || said(t, m, home+"/new.html") == "" {
		t.Errorf("%d and %d; new is %q", s.SameText, s.NearText, said(t, m, home+"/new.html"))
	}
	m.SetJob(w, job("obey_nofollow = false")) // everything is scanned again
	if m.Run(); said(t, m, home+"/new.html") == "" || len(keptTexts(t, m)) != 83 {
		t.Error("a scan forgot the records")
	}
}

// The same bytes say something else in another encoding.
func TestContentSeenInOtherEncoding(t *testing.T) {
	w := mirrortest.Start(t)
	const russian, asWestern = "\xc7\xe5\xf0\xea\xe0\xeb\xee \xf1\xe0\xe9\xf2\xe0", "Зеркало сайта"
	in := func(charset, text string) mirrortest.Page {
		return mirrortest.Page{
			Header: map[string]string{"Content-Type": "text/html; charset=" + charset},
			NoTag:  true,
			Body:   "<p>" + text + "</p><a href=/>x</a>",
		}
	}
	w.Set(home+"/", mirrortest.HTML("Hub", "<a href=/a.html>a</a>"))
	w.Set(home+"/a.html", in("utf-8", asWestern))
	m := mirrortest.New(t, w, job())
	m.Durable = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Set(home+"/", mirrortest.HTML("Hub", "<a href=/a.html>a</a><a href=/b.html>b</a>"))
	w.Set(home+"/b.html", in("windows-1251", russian))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := said(t, m, home+"/b.html"); got != "="+home+"/a.html" {
		t.Fatalf("b is %q", got)
	}
	w.Set(home+"/b.html", in("koi8-r", russian))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := said(t, m, home+"/b.html"); got != "" {
		t.Errorf("b is %q", got)
	}
	if got := keptTexts(t, m); !got["/b.html"] {
		t.Errorf("texts: %v", got)
	}
}

// A page that has left is not in the way of those that say what it said.
func TestContentSeenOfPagesThatLeft(t *testing.T) {
	w := mirrortest.Start(t)
	set := func(names ...string) {
		var links strings.Builder
		for _, n := range names {
			fmt.Fprintf(&links, "<a href=/%s.html>x</a>", n)
		}
		w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
	}
	m := mirrortest.New(t, w, job())
	m.Durable = true
	set("a")
	w.Set(home+"/a.html", wordy(1, 300, ""))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	set("a", "b")
	w.Set(home+"/b.html", wordy(1, 300, ""))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	set("b")
	if s, err := m.RunWith(t.Context(), func(o *mirror.Options) { o.Accept = true }); err != nil ||
		!s.Published {
		t.Fatalf("%v, %v", s, err)
	}
	set("b", "c")
	w.Set(home+"/c.html", wordy(1, 300, ""))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := said(t, m, home+"/c.html"); got != "="+home+"/b.html" {
		t.Errorf("c is %q", got)
	}
}

// A site that answers one text everywhere is stored once, also where there were pages.
func TestPagesThatAllBecomeOne(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 30)
	for i := range 30 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), linked(10+i, 1000, i))
	}
	m := mirrortest.New(t, w, job())
	m.Durable = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := packed(t, m)
	for i := range 30 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), linked(1, 1000, (i+1)%20))
	}
	s, err := m.RunWith(t.Context(), func(o *mirror.Options) { o.Accept = true })
	if err != nil || s.SameText != 29 {
		t.Fatalf("%d pages say the same, %v", s.SameText, err)
	}
	if now := packed(t, m); now-before > before/30*6 {
		t.Errorf("the packs grew from %d by %d bytes", before, now-before)
	}
}

// When the page is lost that others are stored as differences from, all of them are asked again, and it is
// stored once again.
func TestDamagedBaseHeals(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	m := mirrortest.New(t, w, job())
	m.Durable = true
	w.Set(home+"/page00.html", linked(1, 1000, 1))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for i := range 20 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), linked(1, 1000, (i+1)%20))
	}
	hubMore := mirrortest.HTML("Hub", "")
	for i := range 40 {
		hubMore.Body += fmt.Sprintf("<a href=/page%02d.html>x</a>", i)
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), linked(1, 1000, (i+1)%20))
	}
	w.Set(home+"/", hubMore)
	accepted, err := m.RunWith(t.Context(), func(o *mirror.Options) { o.Accept = true }) // all say the same now
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, accepted, mirror.Complete, true)
	before := packed(t, m)
	m.Site(func(s *store.Site) {
		rec, ok, err := s.Records.Get(site.Canonical(home + "/page00.html"))
		if err != nil || !ok {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(s.Dir, "packs", fmt.Sprintf("%06d.pack", rec.At.Pack)),
			os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("#####"), rec.At.Off+int64(rec.At.Len)/2); err != nil {
			t.Fatal(err)
		}
		f.Close()
	})
	m.Damaged = true
	var bad []string
	m.Site(func(s *store.Site) {
		if _, err := report.Verify(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
		var err error
		if bad, err = s.Notes.Damaged(); err != nil {
			t.Fatal(err)
		}
	})
	if n := len(bad); n != 40 && n != 41 { // the hub may lie in the frame of the base
		t.Fatalf("damaged are %q", bad)
	}
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if s.Fetched != int64(len(bad)) {
		t.Errorf("%d were asked again", s.Fetched)
	}
	m.Site(func(s *store.Site) {
		frames := bodies.NewFrameReader() // those of the version before are lost
		err := s.Records.Resources(func(r *record.Resource) error {
			if !r.InSet || r.Body != record.PackBody {
				return nil
			}
			_, err := s.Frames.ReadFrame(frames, r.At)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	if now := packed(t, m); now-before > 7*7000 {
		t.Errorf("the packs grew by %d bytes", now-before)
	}
	if s := m.Run(); s.Fetched > 0 {
		t.Errorf("%d were asked once more", s.Fetched)
	}
}

// A run that resumes knows what it saw before it was interrupted.
func TestContentSeenResumed(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 30)
	for i := range 30 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), linked(1, 1000, (i+1)%30))
	}
	m := mirrortest.New(t, w, job())
	m.Durable = true
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	w.Hook(func(*http.Request) {
		if n.Add(1) == 15 {
			cancel()
		}
	})
	first, err := m.RunWith(ctx, func(*mirror.Options) {})
	if err != nil || first.Verdict != mirror.Partial || first.SameText < 5 {
		t.Fatalf("%v, %v", first, err)
	}
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if n := first.SameText + s.SameText; n != 29 || !s.Resumed {
		t.Errorf("%d pages say the same, resumed %v", n, s.Resumed)
	}
	if got := packed(t, m); got > 4*8000 {
		t.Errorf("the packs have %d bytes", got)
	}
}

// What a killed run wrote of numbers that were given to other URLs since is not believed.
func TestTextsOfReusedNumbers(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Hub", "<a href=/a.html>x</a>"))
	w.Set(home+"/a.html", wordy(1, 300, ""))
	m := mirrortest.New(t, w, job())
	m.Durable = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	m.Site(func(s *store.Site) {
		d, err := s.Pages().Texts()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		known, err := s.Records.Known()
		if err != nil {
			t.Fatal(err)
		}
		said := text.NewSketcher(text.SketchOptions{}).Said([]byte(wordy(2, 300, "").Body), "/b.html", "", true)
		for id := range known + 4 {
			if _, err := d.Append(&pages.TextEntry{ID: id, Body: 7, Said: said}); err != nil {
				t.Fatal(err)
			}
		}
	})
	w.Set(home+"/",
		mirrortest.HTML("Hub", "<a href=/a.html>x</a><img src=/x.png><a href=/b.html>x</a><a href=/c.html>x</a>"))
	w.Set(home+"/x.png", mirrortest.Page{Body: "pixels"})
	w.Set(home+"/b.html", wordy(2, 300, ""))
	w.Set(home+"/c.html", wordy(1, 300, ""))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if b, c := said(t, m, home+"/b.html"), said(t, m, home+"/c.html"); b != "" || s.SameText > 1 {
		t.Errorf("b is %q, c %q", b, c)
	}
	if got := keptTexts(t, m); !got["/b.html"] || !got["/c.html"] {
		t.Errorf("texts: %v", got)
	}
}

// A sitemap that is no part of the mirror is no page of it.
func TestContentSeenOfSitemaps(t *testing.T) {
	w := mirrortest.Start(t)
	const list = home + "/a.html\n" + home + "/b.html\n"
	w.Set(home+"/robots.txt", mirrortest.Page{Body: "Sitemap: " + home + "/maps/list.txt\n"})
	w.Set(home+"/maps/list.txt", mirrortest.Page{Body: list})
	w.Set(home+"/", mirrortest.HTML("Hub", "<a href=/a.html>x</a>"))
	w.Set(home+"/a.html", mirrortest.HTML("A", "<a href=/list.txt>x</a>"))
	w.Set(home+"/b.html", mirrortest.HTML("B", "only the sitemap leads here"))
	w.Set(home+"/list.txt", mirrortest.Page{Body: list})
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n[scope]\nkind = \"host\"\nexclude = [\"/maps/**\"]\n")
	m.Durable = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := keptTexts(t, m); len(got) != 4 || !got["/b.html"] || !got["/list.txt"] {
		t.Errorf("texts: %v", got)
	}
	if got := said(t, m, home+"/list.txt"); got != "" {
		t.Errorf("list.txt is %q", got)
	}
}

// What does not fit into the mirror is not what others say.
func TestContentSeenOfWhatDoesNotFit(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Hub", "<a href=/big.txt>x</a>"))
	w.Set(home+"/big.txt", mirrortest.Page{Body: strings.Repeat("words ", 2000)})
	m := mirrortest.New(t, w, job("[limits]", "max_size = \"4 KB\""))
	m.Durable = true
	m.Run()
	if m.Outcomes()[home+"/big.txt"] == "" {
		t.Fatalf("outcomes: %v", m.Outcomes())
	}
	if got := keptTexts(t, m); len(got) != 1 {
		t.Errorf("texts: %v of %v", got, m.Outcomes())
	}
}
