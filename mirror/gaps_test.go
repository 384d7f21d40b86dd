// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/testing/mirrortest"
)

// night changes a page, makes a run a day later, and checks that the change is published for any reply of
// the site lacks.
func night(
	t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror, want mirror.Verdict,
) *mirror.Summary {
	t.Helper()
	time.Sleep(24 * time.Hour)
	fake.Forget()
	news := mirrortest.Words(uint32(time.Now().Unix()), 20)
	w.Set(home+"/news.html", mirrortest.HTML("News", news))
	s := m.Run()
	wantVerdict(t, s, want, true)
	if got := m.Tree()["news.html"]; !strings.Contains(got, news) {
		t.Errorf("published %q, want %q", got, news)
	}
	return s
}

// entry serves an entry page that links to pages, news and what else is given.
func entry(w *mirrortest.Web, n int, more string) {
	hub(w, n)
	p := w.Page(home + "/")
	p.Body += "<a href=/news.html>news</a>" + more
	w.Set(home+"/", p)
}

// A single image on a closed port of the site's own host, and a single link to its https, which is not there,
// hold nothing back and are not reported as trouble. They are listed, and keep their absolute links.
func TestGapOfOneURL(t *testing.T) {
	for name, broken := range map[string]string{
		"image on a closed port":  "http://www.example.org:8081/logo.png",
		"https of an http site":   "https://www.example.org/safe.html",
		"page without any answer": home + "/hang.html",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, job(`requisites = "any"`, `obey_robots = false`), func(
				t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
			) {
				fake.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if (r.URL.Scheme == "https") || (r.URL.Path == "/hang.html") {
						panic(http.ErrAbortHandler)
					}
					w.ServeHTTP(rw, r)
				})
				link := fmt.Sprintf("<a href=%q>it</a>", broken)
				if strings.HasSuffix(broken, ".png") {
					link = fmt.Sprintf("<img src=%q>", broken)
				}
				entry(w, 10, link)
				began := time.Now().Format(time.DateOnly)
				for range 5 {
					s := night(t, w, fake, m, mirror.Complete)
					wantText(t, s, "complete but for 1 accepted as missing (since ", "accepted as missing: ")
					if got := m.Tree()["index.html"]; !strings.Contains(got, broken) {
						t.Errorf("the link is not absolute: %s", got)
					}
					if first := s.Gaps.Since.Format(time.DateOnly); first != nextDay(began) {
						t.Errorf("since %s, want %s", first, nextDay(began))
					}
				}
			})
		})
	}
}

func nextDay(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err.Error()
	}
	return at.AddDate(0, 0, 1).Format(time.DateOnly)
}

// images are links to n images of a content network.
func images(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<img src=http://cdn.example.net/%d.png>", i)
	}
	return b.String()
}

// A content network that is down for ever is reported, and then written off: it does not cry wolf. When
// much more of it is missing, it has grown, and when it answers again nothing is missing.
func TestGapOfContentNetwork(t *testing.T) {
	inBubble(t, job(`requisites = "any"`), func(
		t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
	) {
		entry(w, 20, images(10))
		s := night(t, w, fake, m, mirror.Gaps)
		wantText(t, s, "some resources are missing, version 1 published",
			"missing: http://cdn.example.net (10 URLs")
		if !s.Gaps.Grew {
			t.Error("the gap is new, and the run does not say so")
		}
		if s = night(t, w, fake, m, mirror.Gaps); s.Gaps.Grew {
			t.Error("the gap has not grown")
		}
		for range 3 {
			s = night(t, w, fake, m, mirror.Complete)
			wantText(t, s, "complete but for 1 accepted as missing (since ", "written off")
		}
		entry(w, 20, images(12)) // a few more are the same trouble
		night(t, w, fake, m, mirror.Complete)
		entry(w, 20, images(40))
		if s = night(t, w, fake, m, mirror.Gaps); !s.Gaps.Grew || (s.Gaps.URLs != 40) {
			t.Errorf("%+v", s.Gaps)
		}
		night(t, w, fake, m, mirror.Gaps)
		s = night(t, w, fake, m, mirror.Complete)
		wantText(t, s, "accepted as missing: http://cdn.example.net (40 URLs")
		meta := metaOf(t, m)
		if (len(meta.Gaps) != 1) || (meta.Gaps[0].Origin != "http://cdn.example.net") || (meta.Gaps[0].URLs != 40) {
			t.Errorf("phm.json: %+v", meta.Gaps)
		}
		for i := range 40 {
			w.Set(fmt.Sprintf("http://cdn.example.net/%d.png", i), mirrortest.Page{Body: fmt.Sprint("png ", i)})
		}
		for range urls.WrittenOffRuns { // one of them requests it
			s = night(t, w, fake, m, mirror.Complete)
		}
		if (s.Gaps.Count != 0) || strings.Contains(mirrortest.Text(s), "gap") {
			t.Errorf("%s", mirrortest.Text(s))
		}
	})
}

func metaOf(t *testing.T, m *mirrortest.Mirror) *phm.Meta {
	t.Helper()
	f, err := m.Current().Open(phm.MetaName)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meta, err := phm.ReadMeta(f)
	if err != nil {
		t.Fatal(err)
	}
	return meta
}

// twoSeeds is a job of two entry points.
func twoSeeds() string {
	return fmt.Sprintf("url = [%q, %q]\n[scope]\nkind = \"host\"\n", home+"/", "http://other.example.org/")
}

// One dead entry point of two holds back nothing of the other one, and keeps its own last good copies.
func TestGapOfEntryPoint(t *testing.T) {
	const other = "http://other.example.org"
	serve := func(w *mirrortest.Web) {
		w.SetAll(other, map[string]mirrortest.Page{
			"/":       mirrortest.HTML("Other", "<a href=/a.html>a</a>"),
			"/a.html": mirrortest.HTML("A", "alpha"),
		})
	}
	for name, die := range map[string]func(w *mirrortest.Web){
		"gone": func(w *mirrortest.Web) { w.Remove(other + "/") },
		"503":  func(w *mirrortest.Web) { w.Set(other+"/", mirrortest.Status(503)) },
		"asks to wait": func(w *mirrortest.Web) {
			busy := mirrortest.Page{Status: 503, Header: map[string]string{"Retry-After": "864000"}}
			w.Set(other+"/", busy)
			w.Set(other+"/a.html", busy)
		},
		"host gone":  func(w *mirrortest.Web) { w.Remove(other + "/"); w.Remove(other + "/a.html") },
		"disallowed": func(w *mirrortest.Web) { w.Set(other+"/robots.txt", mirrortest.Status(503)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, twoSeeds(), func(
				t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
			) {
				entry(w, 10, "")
				serve(w)
				if s := night(t, w, fake, m, mirror.Complete); s.Gaps.Count != 0 {
					t.Fatal(mirrortest.Text(s))
				}
				die(w)
				for n := range 5 {
					want := mirror.Gaps
					if n >= 2 {
						want = mirror.Complete
					}
					s := night(t, w, fake, m, want)
					wantText(t, s, "missing: "+other)
					if got := m.Tree()["@other.example.org_80/a.html"]; !strings.Contains(got, "alpha") {
						t.Errorf("run %d: the copy is %q", n, got)
					}
				}
				serve(w)
				w.Remove(other + "/robots.txt")
				time.Sleep(10 * 24 * time.Hour) // as long as it asked to wait
				if s := night(t, w, fake, m, mirror.Complete); s.Gaps.Count != 0 {
					t.Error(mirrortest.Text(s))
				}
			})
		})
	}
}

// failing makes every other page of a hub fail, n in all: the origin is not down.
func failing(w *mirrortest.Web, n int) {
	for i := range n {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, 2*i+1), mirrortest.Status(500))
	}
}

// Pages that fail keep their last good copies, the rest is published. Above limits.max_failures that is said
// with exit code 6, below it is tolerated; accept makes it known.
func TestGapsAndMaxFailures(t *testing.T) {
	inBubble(t, job(`limits.max_failures = "20%"`), func(
		t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
	) {
		entry(w, 40, "")
		night(t, w, fake, m, mirror.Complete)
		failing(w, 6)
		s := night(t, w, fake, m, mirror.Complete)
		wantText(t, s, "accepted as missing", "status 500", "few")
		failing(w, 15)
		s = night(t, w, fake, m, mirror.Gaps)
		wantText(t, s, "could not be had, more than limits.max_failures")
		if got := m.Tree()["page03.html"]; !strings.Contains(got, "text of 3") {
			t.Errorf("the copy of a page that fails: %q", got)
		}
		wantVerdict(t, m.Accept(), mirror.Complete, false)
		s = night(t, w, fake, m, mirror.Complete)
		wantText(t, s, "accepted")
		hub(w, 40)
		entry(w, 40, "")
		if s = night(t, w, fake, m, mirror.Complete); s.Gaps.Count != 0 {
			t.Error(mirrortest.Text(s))
		}
	})
}

// A page that is a gap was not observed, and nothing that only it may link to is removed.
func TestGapsRemoveNothing(t *testing.T) {
	inBubble(t, job(), func(
		t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
	) {
		entry(w, 40, "<a href=/old.html>old</a>")
		w.Set(home+"/old.html", mirrortest.HTML("Old", "<a href=/child.html>child</a>"))
		w.Set(home+"/child.html", mirrortest.HTML("Child", "child"))
		night(t, w, fake, m, mirror.Complete)
		failing(w, 8)
		entry := w.Page(home + "/") // it links to a new page, which fails, and that one would link to the child
		entry.Body = strings.ReplaceAll(entry.Body, "/old.html", "/new.html")
		w.Set(home+"/", entry)
		w.Set(home+"/new.html", mirrortest.Status(500))
		s := night(t, w, fake, m, mirror.Gaps)
		if (s.Removed > 0) || (m.Tree()["child.html"] == "") {
			t.Error(mirrortest.Text(s))
		}
	})
}

// What the guide names as remedies of gaps ends them.
func TestGapRemedies(t *testing.T) {
	const cdn = `requisites = "any"`
	for name, remedy := range map[string]func(w *mirrortest.Web, m *mirrortest.Mirror){
		"exclude": func(w *mirrortest.Web, m *mirrortest.Mirror) {
			m.SetJob(nil, "url = \""+home+"/\"\n"+cdn+"\n[scope]\nkind = \"host\"\n"+
				"exclude = [\"http://cdn.example.net/**\"]\n")
		},
		"requisites":      func(_ *mirrortest.Web, m *mirrortest.Mirror) { m.SetJob(nil, job(`requisites = "scope"`)) },
		"link taken away": func(w *mirrortest.Web, _ *mirrortest.Mirror) { entry(w, 20, "") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, job(cdn), func(
				t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
			) {
				entry(w, 20, images(10))
				night(t, w, fake, m, mirror.Gaps)
				remedy(w, m)
				if s := night(t, w, fake, m, mirror.Complete); s.Gaps.Count != 0 {
					t.Error(mirrortest.Text(s))
				}
			})
		})
	}
}

// A part of the only host that fails in one piece looks as if the host were down, until a page that is known
// to answer does. It holds nothing back.
func TestGapOfOnePart(t *testing.T) {
	inBubble(t, job(`schedule = "30 3 * * *"`, `polite.delay = "1s"`), func(
		t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
	) {
		entry(w, 60, "")
		night(t, w, fake, m, mirror.Complete)
		for i := 20; i < 50; i++ {
			w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Status(500))
		}
		for range 2 {
			night(t, w, fake, m, mirror.Gaps)
		}
		for range 4 {
			night(t, w, fake, m, mirror.Complete)
		}
	})
}
