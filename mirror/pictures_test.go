// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// scope.not_types = "images" leaves out the pictures of pages: links lead to the origin. They come again when
// the job wants them again.
func TestNoPictures(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", `<link rel=stylesheet href=s.css><link rel=icon href=icon.png>`+
		`<img src=a.png srcset="b.png 2x"><a href=a.png>big</a> <a href=p.html>p</a><script src=s.js></script>`))
	w.Set(home+"/p.html", mirrortest.HTML("P", `<img src=a.png><img src=/get?id=7>`))
	w.Set(home+"/s.css", mirrortest.Page{
		Body: "body { background: url(c.png) } @font-face { src: url(f.woff) }",
	})
	w.Set(home+"/s.js", mirrortest.Page{Body: "var x = 1"})
	w.Set(home+"/f.woff", mirrortest.Page{
		Header: map[string]string{"Content-Type": "font/woff"},
		Body:   "font",
	})
	for _, name := range []string{"icon.png", "a.png", "b.png", "c.png", "get?id=7"} {
		w.Set(home+"/"+name, mirrortest.Page{
			Header: map[string]string{"Content-Type": "image/png"},
			Body:   "picture " + name,
		})
	}
	const without = "url = \"" + home + "/\"\nscope.not_types = \"images\"\n"
	m := mirrortest.New(t, w, without)
	wantPages := func() {
		t.Helper()
		wantPaths(t, m, "index.html", "p.html", "s.css", "s.js", "f.woff")
		tree := m.Tree()
		for name, link := range map[string][]string{
			"index.html": {"src=" + home + "/a.png", home + "/b.png 2x", "href=" + home + "/a.png", home + "/icon.png",
				"href=s.css"},
			"p.html": {"src=" + home + "/a.png", home + "/get?id=7"},
			"s.css":  {"url(" + home + "/c.png)", "url(f.woff)"},
		} {
			for _, l := range link {
				if !strings.Contains(tree[name], l) {
					t.Errorf("%s has no %s: %s", name, l, tree[name])
				}
			}
		}
	}
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantPages()
	wantVerdict(t, m.Run(), mirror.Complete, false)
	m.SetJob(w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if n := len(m.Paths()); n != 10 {
		t.Errorf("with pictures again: %q\n%s", m.Paths(), mirrortest.Text(s))
	}
	m.SetJob(w, without)
	m.Site(func(s *store.Site) {
		l, err := report.LeavingOf(m.Job, s)
		if err != nil || l.Refused != 5 || l.Pictures != 5 || !strings.Contains(l.String(), "5 pictures") {
			t.Errorf("before the run: %+v, %v", l, err)
		}
	})
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "pictures that leave the mirror", "(5, such as")
	if s.Removed != 5 {
		t.Error(mirrortest.Text(s))
	}
	wantPages()
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// A mirror that was made when scope.not_types left pictures of pages in it loses them in the next run.
func TestPicturesOfOlderRules(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", "<img src=a.png>"))
	w.Set(home+"/a.png", mirrortest.Page{Body: "picture"})
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	m.SetJob(w, "url = \""+home+"/\"\nscope.not_types = \"png\"\n")
	m.Set("limits.max_delete", "0%")
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantPaths(t, m, "index.html")
}
