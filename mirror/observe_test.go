// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// recordOf returns the stored record of a URL.
func recordOf(t *testing.T, m *mirrortest.Mirror, url string) (rec record.Resource) {
	t.Helper()
	m.Site(func(s *store.Site) {
		r, ok, err := s.Records.Get(site.Canonical(url))
		if err != nil || !ok {
			t.Fatalf("%s: known %v, %v", url, ok, err)
		}
		rec = r
	})
	return rec
}

// explain returns the report on a URL.
func explain(t *testing.T, m *mirrortest.Mirror, url string) (text string) {
	t.Helper()
	m.Site(func(s *store.Site) {
		x, err := explainURL(m, s, url)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := x.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		text = b.String()
	})
	return text
}

// stamped answers a page with what always changes, in a comment and as a time: the number of the request, or
// of the run.
func stamped(text *string, run *int64) mirrortest.Page {
	var n atomic.Int64
	return mirrortest.Page{Handle: func(rw http.ResponseWriter, _ *http.Request) {
		i := n.Add(1)
		if run != nil {
			i = *run
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(rw,
			"<!DOCTYPE html>\n<title>Stamped</title>\n<p>%s</p>\n<hr>Generated at 12:%02d:%02d <!-- request %d -->\n",
			*text, i/60%60, i%60, i)
	}}
}

func TestVolatilePageIsNoChange(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 3)
	text := "what it says"
	page := home + "/page01.html"
	number := int64(0)
	w.Set(page, stamped(&text, &number))
	m := mirrortest.New(t, w, job())
	run := func() *mirror.Summary {
		number++
		return m.Run()
	}
	wantVerdict(t, run(), mirror.Complete, true)
	for range 2 { // until it is known
		s := run()
		if wantVerdict(t, s, mirror.Complete, true); s.Changed != 1 {
			t.Fatalf("%d changed", s.Changed)
		}
	}
	before := m.Stamps()
	for range 3 {
		s := run()
		if wantVerdict(t, s, mirror.Complete, false); s.Fetched != 0 {
			t.Errorf("%d fetched", s.Fetched)
		}
	}
	if after := m.Stamps(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("the tree was touched")
	}
	if got := explain(t, m, page); !strings.Contains(got, "differs only in what always changes: ") ||
		!strings.Contains(got, `"Generated at #"`) ||
		!strings.Contains(got, "volatile: a change of this alone does not count") {
		t.Errorf("explain does not say why:\n%s", got)
	}
	text = "what it says now"
	s := run()
	if wantVerdict(t, s, mirror.Complete, true); !strings.Contains(m.Tree()["page01.html"], text) {
		t.Error("a change of the text is hidden")
	}
	wantVerdict(t, run(), mirror.Complete, false)
}

// What changes only now and then does not always change, for any content; nor does what changes together with
// the text.
func TestStampThatStaysIsNotVolatile(t *testing.T) {
	for name, c := range map[string]struct {
		noTag bool
		pages []string
	}{
		"same bytes between": {true,
			[]string{"a 12:01", "a 12:02", "a 12:02", "a 12:03", "a 12:03", "a 12:04", "a 12:04", "a 12:05"}},
		"304 between": {false,
			[]string{"a 12:01", "a 12:02", "a 12:02", "a 12:03", "a 12:03", "a 12:04", "a 12:04", "a 12:05"}},
		"a change between": {true,
			[]string{"a 12:01", "a 12:02", "b 12:03", "b 12:04", "c 12:05", "c 12:06", "d 12:07"}},
		"not for two": {true, []string{"a 12:01", "a 12:02", "a 12:03"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 2)
			m := mirrortest.New(t, w, job())
			last := ""
			for run, text := range c.pages {
				text = strings.Replace(text, " ", "</p>\n<hr>\n<i>", 1)
				p := mirrortest.HTML("Page", "<p>"+text)
				p.NoTag = c.noTag
				w.Set(home+"/page01.html", p)
				wantVerdict(t, m.Run(), mirror.Complete, text != last)
				if got := m.Tree()["page01.html"]; !strings.Contains(got, text) {
					t.Fatalf("run %d: %q is hidden: %s", run+1, text, got)
				}
				last = text
			}
		})
	}
}

// The dates of a listing are what it says: that one of them changes every time is no reason not to look at
// it.
func TestListingIsNeverVolatile(t *testing.T) {
	w := mirrortest.Start(t)
	top, sub := archive(12)
	sub.serve(w)
	m := mirrortest.New(t, w, archiveJob)
	for run := range 7 {
		text := fmt.Sprintf("log of night %d\n", run)
		top.files["f003.txt"] = file{text, longAgo.Add(time.Duration(run) * 24 * time.Hour)}
		top.serve(w)
		wantVerdict(t, m.Run(), mirror.Complete, true)
		if got := m.Tree()["pub/f003.txt"]; got != text {
			t.Fatalf("run %d: the file is %q, want %q", run, got, text)
		}
	}
}

// Nothing is published for noise, however long no page is edited; an edit is seen at once.
func TestFortyRunsWithoutAnEdit(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 1)
	text := "text"
	w.Set(home+"/page00.html", stamped(&text, nil))
	m := mirrortest.New(t, w, job())
	for run := range 40 {
		wantVerdict(t, m.Run(), mirror.Complete, run == 0)
	}
	text = "other text"
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if !strings.Contains(m.Tree()["page00.html"], text) {
		t.Error("the edit is hidden")
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// lying answers bodies under validators that never change, and honours them.
func lying(body *string, header, value string) mirrortest.Page {
	return mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Header().Set(header, value)
		if r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != "" {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprintf(rw, "<title>%s</title><p>%s", *body, *body)
	}}
}

func TestValidatorsThatLieAreFoundOut(t *testing.T) {
	for header, value := range map[string]string{
		"ETag":          `"always"`,
		"Last-Modified": "Fri, 01 Mar 2024 12:00:00 GMT",
	} {
		t.Run(header, func(t *testing.T) {
			w := mirrortest.Start(t)
			texts := make([]string, 6)
			var links strings.Builder
			for i := range texts {
				texts[i] = fmt.Sprint("first text of ", i)
				w.Set(fmt.Sprintf("%s/dir/p%d.html", home, i), lying(&texts[i], header, value))
				fmt.Fprintf(&links, "<a href=dir/p%d.html>x</a>", i)
			}
			w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			wantVerdict(t, m.Run(), mirror.Complete, false) // now they are known to answer 304
			for i := range texts {
				texts[i] = fmt.Sprint("second text of ", i)
			}
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.Changed != len(texts) {
				t.Errorf("%d of %d changes are seen\n%s", s.Changed, len(texts), mirrortest.Text(s))
			}
			wantText(t, s, "its directory is requested without them until run 8", "no longer sent")
			page := home + "/dir/p0.html"
			if got := explain(t, m, page); !strings.Contains(got, "validators: its "+header+" is not sent") ||
				!strings.Contains(got, "before run 8") {
				t.Errorf("explain does not say it:\n%s", got)
			}
			for run := 4; run <= 8; run++ {
				w.Requests()
				m.Run()
				for _, r := range w.Requests() {
					if strings.Contains(r.URL, "/dir/") && r.Conditional {
						t.Errorf("run %d asks %s with a validator that lied", run, r.URL)
					}
				}
			}
		})
	}
}

// The validators of pages that a program makes are blamed once a second answer explains nothing.
func TestProgramThatLiesIsFoundOut(t *testing.T) {
	w := mirrortest.Start(t)
	text := "first text"
	var links strings.Builder
	for i := range 6 {
		page := lying(&text, "ETag", `"always"`)
		handle := func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Cache-Control", "no-cache")
			page.Handle(rw, r)
		}
		w.Set(fmt.Sprintf("%s/dir/p%d.html", home, i), mirrortest.Page{Handle: handle})
		fmt.Fprintf(&links, "<a href=dir/p%d.html>x</a>", i)
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
	m := mirrortest.New(t, w, job())
	m.Run()
	m.Run()
	text = "second text"
	wantText(t, m.Run(), "its directory is requested without them until run 8")
	m.Run()
	for name, got := range m.Tree() {
		if strings.HasPrefix(name, "dir/") && !strings.Contains(got, text) {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// What differs between two answers of one moment is no proof against validators: a page is requested twice
// before they are blamed, also where the site has too many templates for all to be known.
func TestNoiseIsNoBlame(t *testing.T) {
	w := mirrortest.Start(t)
	var drawn atomic.Int64
	var links strings.Builder
	for i := range 36 {
		name := fmt.Sprintf("dir/p%d.html", i)
		w.Set(home+"/"+name, mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			rw.Header().Set("Cache-Control", "no-cache")
			rw.Header().Set("ETag", `"of the text"`)
			if r.Header.Get("If-None-Match") != "" {
				rw.WriteHeader(http.StatusNotModified)
				return
			}
			word := [...]string{"amber lamp", "blue lamp of copper", "a green one", "grey"}[drawn.Add(1)%4]
			const page = "<html class=t%d><title>T</title><p>Page %d.<p class=quote%d>%s</p>"
			fmt.Fprintf(rw, page, i%12, i, i%12, word)
		}})
		fmt.Fprintf(&links, "<a href=%s>x</a>", name)
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
	m := mirrortest.New(t, w, job())
	for run := range 12 {
		s := m.Run()
		if text := mirrortest.Text(s); strings.Contains(text, "no longer sent") {
			t.Errorf("run %d blames validators for noise:\n%s", run+1, text)
		}
	}
}

func observations(t *testing.T, m *mirrortest.Mirror) (out []record.Observation) {
	t.Helper()
	m.Site(func(s *store.Site) {
		if err := s.Records.Observations(func(o *record.Observation) error {
			out = append(out, *o)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	return out
}

func TestEveryRunSaysWhatItObserved(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	m := mirrortest.New(t, w, job("limits.max_delete = 0.5"))
	m.Run()
	id := func(page string) uint32 { return recordOf(t, m, home+page).ID }
	want := func(what string, got record.IDs, pages ...string) {
		t.Helper()
		var ids []uint32
		for _, p := range pages {
			ids = append(ids, id(p))
		}
		slices.Sort(ids)
		if !slices.Equal(slices.Collect(got.All()), ids) {
			t.Errorf("%s: %v, want %v", what, got, ids)
		}
	}
	o := observations(t, m)
	if len(o) != 1 || o[0].Run != 1 || o[0].Entered.Len() != 21 || o[0].Changed.Len() != 0 || !o[0].Complete {
		t.Fatalf("%+v", o)
	}
	m.Run()
	if o = observations(t, m); o[1].Asked.Len() != 21 || len(o[1].Asked) > 2 ||
		o[1].Entered.Len()+o[1].Left.Len()+o[1].Changed.Len() != 0 {
		t.Errorf("a quiet run: %+v", o[1])
	}
	w.Set(home+"/page03.html", mirrortest.HTML("Page 3", "another text"))
	w.Set(home+"/page04.html", mirrortest.HTML("Page 4", "with a <a href=new.html>new page</a>"))
	w.Set(home+"/new.html", mirrortest.HTML("New", "x"))
	w.Remove(home + "/page05.html")
	wantVerdict(t, m.Run(), mirror.Complete, true)
	o = observations(t, m)
	want("changed", o[2].Changed, "/page03.html", "/page04.html")
	want("entered", o[2].Entered, "/new.html")
	want("left", o[2].Left, "/page05.html")
	if n := o[2].Asked.Len(); n != 22 && n != 23 { // with the icon, when it is its turn
		t.Errorf("asked %v", o[2].Asked)
	}

	// A run that is cut short has observed what it asked; it writes that again when it resumes.
	ctx, cancel := context.WithCancel(context.Background())
	var n atomic.Int64
	w.Hook(func(*http.Request) {
		if n.Add(1) == 8 {
			cancel()
		}
	})
	w.Set(home+"/page09.html", mirrortest.HTML("Page 9", "another text"))
	s, err := m.RunWith(ctx, func(*mirror.Options) {})
	if err != nil || s.Verdict != mirror.Partial {
		t.Fatal(err, mirrortest.Text(s))
	}
	w.Hook(nil)
	o = observations(t, m)
	if part := o[3]; part.Complete || part.Asked.Len() == 0 || part.Asked.Len() > 12 {
		t.Errorf("a part: %+v", part)
	}
	wantVerdict(t, m.Run(), mirror.Complete, true)
	o = observations(t, m)
	if len(o) != 4 || !o[3].Complete || o[3].Asked.Len() < 21 {
		t.Errorf("resumed: %d, %+v", len(o), o[len(o)-1])
	}
	want("changed in two parts", o[3].Changed, "/page09.html")
	if rec := recordOf(t, m, home+"/page09.html"); rec.Observed != 3 || rec.Recent != 1 {
		t.Errorf("page09: %d looks, %b", rec.Observed, rec.Recent)
	}
}

func TestLifetimesSpareRequestsWhenTheJobSaysSo(t *testing.T) {
	w := mirrortest.Start(t)
	var links strings.Builder
	for i := range 40 {
		p := fmt.Sprintf("/p%02d.html", i)
		fmt.Fprintf(&links, "<a href=%q>x</a>", p)
		page := mirrortest.HTML(fmt.Sprint("Page ", i), fmt.Sprint("text of ", i))
		page.Header["Cache-Control"] = "public, max-age=86400"
		w.Set(home+p, page)
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
	m := mirrortest.New(t, w, job("evidence.expiry = true"))
	now := time.Now()
	m.Now = func() time.Time { return now }
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Requests()
	s := m.Run()
	if wantVerdict(t, s, mirror.Complete, false); s.Spared["expiry"] < 36 || len(w.Requests()) > 2+3 {
		t.Errorf("spared %v", s.Spared)
	}
	wantText(t, s, "by their lifetimes")
	if got := explain(t, m, home+"/p20.html"); !strings.Contains(got, "lifetime has not ended") {
		t.Errorf("explain does not say why it was not asked:\n%s", got)
	}
	now = now.Add(25 * time.Hour)
	if s = m.Run(); len(s.Spared) != 0 {
		t.Errorf("spared %v when the lifetimes are over", s.Spared)
	}
	if s = m.Run(); s.Spared["expiry"] < 36 {
		t.Errorf("spared %v when the site has said it again", s.Spared)
	}
	for i := range 40 {
		w.Set(fmt.Sprintf("%s/p%02d.html", home, i),
			mirrortest.HTML(fmt.Sprint("Changed ", i), fmt.Sprint("other text of ", i)))
	}
	s = m.Run()
	if s.Changed != 40 {
		t.Errorf("%d changed, want 40: a lifetime that lied is not believed\n%s", s.Changed, mirrortest.Text(s))
	}
	m = mirrortest.New(t, w, job())
	m.Run()
	if s = m.Run(); len(s.Spared) != 0 {
		t.Errorf("spared %v although the job does not say so", s.Spared)
	}
}

func TestEvidenceThatTheJobDoesNotWant(t *testing.T) {
	w := mirrortest.Start(t)
	top, sub := archive(10)
	top.serve(w)
	sub.serve(w)
	m := mirrortest.New(t, w, archiveJob+"evidence.listings = false\n")
	m.Run()
	m.Run()
	if s := m.Run(); len(s.Spared) != 0 || s.Unchanged != 22 {
		t.Errorf("unchanged %d, spared %v", s.Unchanged, s.Spared)
	}
	w = mirrortest.Start(t)
	mapped(w, 10, func(int) time.Time { return longAgo })
	m = mirrortest.New(t, w, job("evidence.sitemaps = false"))
	m.Run()
	m.Run()
	if s := m.Run(); len(s.Spared) != 0 {
		t.Errorf("spared %v", s.Spared)
	}
}
